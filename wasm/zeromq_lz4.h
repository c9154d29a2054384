/* The exports of the module: liblz4 and the wire format of RFC.md for one thread.
 *
 * The exports are flat and integer-only; they never print, abort or call out.
 *
 * Memory. The caller owns every buffer it passes and nothing is kept past the
 * call, except that a dictionary's bytes are copied. The module owns what the
 * zl_*_open functions return until the matching zl_*_close. A pointer from
 * zl_scratch is good until the next zl_scratch of the same region. Any call may
 * grow the memory, so views made before a call are stale after it.
 *
 * Units. All sizes are in bytes. A size that comes from the wire is 64 bits
 * wide; where one crosses into JavaScript it does so as two 32-bit halves.
 *
 * Errors. A negative return is one of ZL_E_*; outputs are then undefined, and
 * everything that was open stays usable. */
#ifndef ZEROMQ_LZ4_H
#define ZEROMQ_LZ4_H

#include <stdint.h>

#ifdef __EMSCRIPTEN__
#define ZL_EXPORT __attribute__((used, visibility("default")))
#else
#define ZL_EXPORT
#endif

/* Plaintext of one LZ4 block (RFC.md section 4): 1 GiB. Test builds lower it. */
#ifndef ZL_BLOCK_MAX
#define ZL_BLOCK_MAX 0x40000000u
#endif

/* Plaintext of the largest part that is worth keeping memory for: a wasm memory
 * never shrinks, so larger parts are left to instances that are thrown away. */
#define ZL_PART_MAX (ZL_BLOCK_MAX < 0x100000u ? ZL_BLOCK_MAX : 0x100000u)

#define ZL_DICTIONARY_MAX 8192u
/* Bytes of an LZ4B or LZ4M part before its first block. */
#define ZL_HEAD_BYTES 12u
/* Bytes of the length in front of a block of an LZ4M part. */
#define ZL_BLOCK_LENGTH_BYTES 4u
/* Bytes of the sentinel that every part begins with. */
#define ZL_SENTINEL_BYTES 4u

/* Rules that a peer broke, and the one thing that can go wrong here. */
enum {
  ZL_E_PART_TOO_SHORT = -1,
  ZL_E_UNKNOWN_SENTINEL = -2,
  ZL_E_TRUNCATED = -3,
  ZL_E_BLOCK_TOO_LARGE = -4,
  ZL_E_BUDGET_EXCEEDED = -5,
  ZL_E_IMPLAUSIBLE_SIZE = -6,
  ZL_E_CORRUPT_BLOCK = -7,
  ZL_E_SIZE_MISMATCH = -8,
  ZL_E_TRAILING_BYTES = -9,
  ZL_E_DICTIONARY_SIZE = -10,
  ZL_E_DICTIONARY_REPEATED = -11,
  ZL_E_DICTIONARY_MULTIPART = -12,
  ZL_E_ARENA = -13,
  ZL_E_GREETING = -14,
  ZL_E_FRAME = -15,
  ZL_E_NO_MEMORY = -16,
};

/* The form of a part on the wire. */
enum {
  ZL_PLAIN = 1,
  ZL_LZ4B = 2,
  ZL_LZ4M = 3,
  ZL_LZ4D = 4,
  ZL_LZ4A = 5,
};

/* The position of a part in its message: a single-part message is both. */
enum {
  ZL_FIRST = 1,
  ZL_LAST = 2,
};

/* -- Module ------------------------------------------------------------------ */

/* liblz4's version as major * 10000 + minor * 100 + release. */
ZL_EXPORT uint32_t zl_lz4_version(void);

/* ZL_BLOCK_MAX of this build. */
ZL_EXPORT uint32_t zl_block_max(void);
/* ZL_PART_MAX of this build. */
ZL_EXPORT uint32_t zl_part_max(void);

enum {
  ZL_INPUT = 0,
  ZL_OUTPUT = 1,
  ZL_SCRATCH_REGIONS = 2,
};

/* A region of at least `bytes` bytes, content undefined; 0 when memory is out. */
ZL_EXPORT uint8_t *zl_scratch(uint32_t region, uint32_t bytes);

/* -- Dictionaries (RFC.md section 6) ----------------------------------------- */

/* One dictionary, shared by all who open the same bytes. */
typedef struct zl_dictionary zl_dictionary;

/* `length` is 1..ZL_DICTIONARY_MAX. Returns 0 when memory is out or the length
 * is not in range. */
ZL_EXPORT zl_dictionary *zl_dictionary_open(const uint8_t *bytes, uint32_t length);
/* Gives one opening back; 0 is allowed. */
ZL_EXPORT void zl_dictionary_close(zl_dictionary *dictionary);
ZL_EXPORT const uint8_t *zl_dictionary_bytes(const zl_dictionary *dictionary);
ZL_EXPORT uint32_t zl_dictionary_length(const zl_dictionary *dictionary);

/* -- Receiving (RFC.md section 5) -------------------------------------------- */

/* The receiving half of a connection: its dictionary and its budget. */
typedef struct zl_receiver zl_receiver;

/* A part between its head and its last block. JavaScript reads the first four
 * fields, so their order and width are part of the interface. */
typedef struct {
  uint64_t plain_bytes; /* plaintext of the part, as declared; set on errors too */
  uint64_t budget_left; /* of the message, before this part; set on errors too */
  uint32_t block_bytes; /* length of the block that is due */
  uint32_t block_plain; /* plaintext of the block that is due */
  uint64_t plain_left;  /* plaintext of the blocks after it */
  uint64_t wire_left;   /* bytes of the part after it */
  uint32_t kind;        /* ZL_PLAIN ... */
} zl_part;

/* A zl_part for callers that have no memory of their own in here. */
ZL_EXPORT zl_part *zl_part_slot(void);

/* `budget` caps the plaintext of one message over all its parts; all ones means
 * no cap. `revision` 1 refuses arenas, 2 reads them. Returns 0 when memory is out. */
ZL_EXPORT zl_receiver *zl_receiver_open(uint32_t budget_low, uint32_t budget_high,
                                        uint32_t revision);
ZL_EXPORT void zl_receiver_close(zl_receiver *receiver);

/* Reads the head of a part of `wire` bytes. `head` holds its first bytes: all
 * of them or ZL_HEAD_BYTES, whichever is less. `place` is ZL_FIRST and ZL_LAST
 * or'ed; the first part of a message starts its budget anew. Returns the kind
 * and fills `part`; every check that needs no block has then been made. */
ZL_EXPORT int32_t zl_receive_head(zl_receiver *receiver, const uint8_t *head, uint32_t wire_low,
                                  uint32_t wire_high, uint32_t place, zl_part *part);

/* Moves to the next block of an LZ4B or LZ4M part and sets part->block_bytes and
 * block_plain. `length` holds the 4 bytes of an LZ4M block length when the part
 * has that many left, and is not read for LZ4B. Returns 1, or 0 after the last. */
ZL_EXPORT int32_t zl_receive_block(zl_part *part, const uint8_t *length);

/* Decodes one block of `block_bytes` at `source` into the `plain` bytes at
 * `target`. Both are at most LZ4's own limits; `source` is untrusted. */
ZL_EXPORT int32_t zl_block_decode(const zl_dictionary *dictionary, const uint8_t *source,
                                  uint32_t block_bytes, uint8_t *target, uint32_t plain);

/* Installs the dictionary of an LZ4D part whose head was accepted: `bytes` is
 * the part without its sentinel. */
ZL_EXPORT int32_t zl_receive_dictionary(zl_receiver *receiver, const uint8_t *bytes,
                                        uint32_t length);
/* The installed dictionary, or 0. It lives as long as the receiver. */
ZL_EXPORT const zl_dictionary *zl_receiver_dictionary(const zl_receiver *receiver);

/* -- Sending (RFC.md section 5) ---------------------------------------------- */

/* Compression effort: LZ4's acceleration, 1..65537, or the negative of
 * a level of LZ4HC, -3..-12. Without memory for LZ4HC it is as if this were 1.
 * With no effort nothing is compressed. */
#define ZL_NO_EFFORT 0

/* The most bytes that one block of `plain` bytes can take (LZ4_compressBound). */
ZL_EXPORT uint32_t zl_block_bound(uint32_t plain);

/* Compresses `plain` bytes (at most ZL_BLOCK_MAX) into one block of at most
 * `room` bytes. `effort` says how hard to try. Returns the block's length, or
 * 0 when it does not fit. */
ZL_EXPORT uint32_t zl_block_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                                   uint8_t *target, uint32_t room, int32_t effort);

/* Writes an LZ4B part for `plain` bytes (at most ZL_BLOCK_MAX) to `target`,
 * which has room for plain + 4 bytes. Returns the part's length, or 0 when the
 * part is not shorter than a plain one and has to go plain. */
ZL_EXPORT uint32_t zl_part_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                                  uint8_t *target, int32_t effort);

/* Writes the ZL_HEAD_BYTES that begin an LZ4M part. */
ZL_EXPORT void zl_multi_head(uint8_t *target, uint32_t plain_low, uint32_t plain_high);

/* Writes one block of an LZ4M part, its length first, to `target`, which has room
 * for 4 + zl_block_bound(plain) bytes. Returns the bytes written. It takes some effort. */
ZL_EXPORT uint32_t zl_multi_block(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                                  uint8_t *target, int32_t effort);

/* -- Arenas (RFC.md appendix A) ---------------------------------------------- */

/* Bytes of an arena before its body, and the limits of what is in it. */
#define ZL_ARENA_HEAD_BYTES 16u
#define ZL_ARENA_MAX 65536u
#define ZL_ARENA_MESSAGES_MAX 256u
#define ZL_ARENA_PARTS_MAX 4096u
/* The most that a sender puts into an arena of one message, headers included. */
#define ZL_ARENA_MESSAGE_MAX 8192u

/* The contents of an arena. JavaScript reads all fields. */
typedef struct {
  uint32_t bytes; /* of all frames */
  uint32_t plain_bytes;
  uint32_t parts;
  uint32_t messages;
} zl_arena;

/* A zl_arena for callers that have no memory of their own in here. */
ZL_EXPORT zl_arena *zl_arena_slot(void);

/* Whether a message of `parts` parts, whose frames take `bytes` bytes, may share what
 * `arena` counts, which begins as zeros. It is counted then, but for plain_bytes. */
ZL_EXPORT uint32_t zl_arena_join(zl_arena *arena, uint32_t bytes, uint32_t parts);

/* Unpacks an LZ4A part whose head zl_receive_head accepted, and of which all
 * bytes are there, to the ZL_ARENA_MAX bytes at `target`: frames without
 * envelopes, which have all been checked. */
ZL_EXPORT int32_t zl_arena_read(zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                                uint8_t *target, zl_arena *arena);

/* Writes the part for `messages` messages whose frames take `length` bytes,
 * within the limits, to `target`, which has room for ZL_ARENA_HEAD_BYTES + length
 * bytes. Fewer than `min_bytes` bytes are stored as they are. Returns its length. */
ZL_EXPORT uint32_t zl_arena_encode(zl_dictionary *dictionary, const uint8_t *frames,
                                   uint32_t length, uint32_t messages, uint8_t *target,
                                   uint32_t min_bytes, int32_t effort);

/* -- Training (RFC.md section 6.4) ------------------------------------------- */

/* Collects the first messages of a sender and makes a dictionary of them. */
typedef struct zl_trainer zl_trainer;

/* For dictionaries of up to `capacity` bytes (1 to ZL_DICTIONARY_MAX), after `trigger`
 * messages. `min_bytes` is for zl_sending_open. Returns 0 when memory is out. */
ZL_EXPORT zl_trainer *zl_trainer_open(uint32_t capacity, uint32_t trigger, uint32_t min_bytes);
/* 0 is allowed. Transcoders that use it are closed before. */
ZL_EXPORT void zl_trainer_close(zl_trainer *trainer);
/* The most bytes of a part that are kept as a sample. */
ZL_EXPORT uint32_t zl_trainer_wants(const zl_trainer *trainer);
/* Keeps a copy of a part's beginning, while there is room for more. */
ZL_EXPORT void zl_trainer_sample(zl_trainer *trainer, const uint8_t *part, uint32_t length);
/* Counts a message whose parts were sampled; true when there have been enough. */
ZL_EXPORT int zl_trainer_message(zl_trainer *trainer);
/* Makes the dictionary, which is the trainer's, and forgets the samples. Returns 0
 * when one would gain nothing. To be called once. */
ZL_EXPORT zl_dictionary *zl_trainer_train(zl_trainer *trainer);
/* The same bit by bit: a step does at most about a quarter of the work and returns 1
 * while there is more; then zl_trainer_finish gives the dictionary. No samples are
 * given in between. */
ZL_EXPORT uint32_t zl_trainer_step(zl_trainer *trainer);
ZL_EXPORT zl_dictionary *zl_trainer_finish(zl_trainer *trainer);

/* -- Transcoding a stream (RFC.md section 3) --------------------------------- */

/* One direction of a connection: it reads a ZMTP byte stream, lets the greeting and
 * commands through and rewrites message parts. What it writes does not depend on
 * how the stream is cut into calls, but for which messages share an arena. */
typedef struct zl_transcoder zl_transcoder;

/* Bytes that a call consumed and produced. JavaScript reads all fields after the call. */
typedef struct {
  uint32_t consumed; /* bytes of the input that are done with */
  uint32_t produced; /* bytes written to the output */
  uint32_t need;     /* see the status */
} zl_progress;

/* Status of zl_transcode. */
enum {
  /* The rest of the input is the beginning of something of which at least `need`
   * bytes must be there. */
  ZL_NEEDS_INPUT = 0,
  /* The output has to be taken before there is room to go on; an empty output
   * has to have room for `need` bytes. */
  ZL_NEEDS_ROOM = 1,
  /* A part of over ZL_PART_MAX bytes follows; its frame header is consumed. The
   * caller collects the body, transcodes it and says so with zl_large_done. */
  ZL_LARGE_PART = 2,
  /* The next `need` bytes of the input are of a body that goes on as it is, and too
   * many to copy. The caller takes them from the input, and says so with zl_body_taken. */
  ZL_BODY = 3,
};

/* Counts since the start. JavaScript reads it with the pointer to a transcoder,
 * of which it is the first field. */
typedef struct {
  uint64_t messages;
  uint64_t plain_bytes; /* plaintext of all parts */
  uint64_t wire_bytes;  /* the same parts on the wire, dictionaries included */
} zl_traffic;

/* From the wire to plain ZMTP, as with zl_receiver_open. Both return 0 when
 * memory is out. Where they are `greeted`, the stream begins with frames. */
ZL_EXPORT zl_transcoder *zl_receiving_open(uint32_t budget_low, uint32_t budget_high,
                                           uint32_t revision, uint32_t greeted);
/* Refuses parts of more plaintext than this with ZL_E_BUDGET_EXCEEDED, whatever the budget is: the
 * caller has no memory that is as large. Until then there is no limit. */
ZL_EXPORT void zl_receiving_limit(zl_transcoder *transcoder, uint32_t low, uint32_t high);
/* From plain ZMTP to the wire: parts of `min_bytes` bytes and more are compressed,
 * against `dictionary` (taken over from the caller; may be 0) once it is shipped.
 * With `arenas`, small messages that are in the same input share a part. `trainer`
 * (0 for none, or when there is a dictionary) may be shared by several: one of them
 * at a time has its messages sampled, all of them ship what comes of it. */
ZL_EXPORT zl_transcoder *zl_sending_open(zl_dictionary *dictionary, uint32_t min_bytes,
                                         int32_t effort, uint32_t arenas, zl_trainer *trainer,
                                         uint32_t greeted);
/* From the next message on, `effort` is how hard a sending transcoder tries. With none parts go
 * plain: nothing is sampled, no dictionary is shipped and no arena made. */
ZL_EXPORT void zl_sending_effort(zl_transcoder *transcoder, int32_t effort);
/* From the next message on, whether small messages share parts. */
ZL_EXPORT void zl_sending_arenas(zl_transcoder *transcoder, uint32_t arenas);

/* Results of zl_sending_plan, unless it is a number of bytes. */
enum {
  ZL_GOES_PLAIN = 0,
  ZL_IS_TRIED = 1,
};
/* Tells how a sending transcoder, which is between two parts, sends a next one of `low`, `high`
 * bytes as it comes: it goes plain, or it is tried. Or, as parts of its size were tried in vain
 * lately, it is judged by a sample: as many bytes of its beginning, and as many of its middle, are
 * to be given to zl_sending_shrinks, and it goes plain if that says 0. */
ZL_EXPORT uint32_t zl_sending_plan(zl_transcoder *transcoder, uint32_t low, uint32_t high);
ZL_EXPORT uint32_t zl_sending_shrinks(const zl_transcoder *transcoder, const uint8_t *sample,
                                      uint32_t length);
/* Writes all of a plain part but its body of `low`, `high` bytes, which the caller passes on
 * itself, to `target`, which has room for ZL_PLAIN_HEAD_MAX bytes, and counts the part.
 * Returns the bytes written. */
#define ZL_PLAIN_HEAD_MAX 13u
ZL_EXPORT uint32_t zl_sending_plain(zl_transcoder *transcoder, uint8_t *target, uint32_t more,
                                    uint32_t low, uint32_t high);
ZL_EXPORT void zl_transcoder_close(zl_transcoder *transcoder);

/* Transcodes what it can of the `length` bytes at `input` into the `room` bytes
 * at `output`, which must not overlap. Returns a status or an error, after which
 * the transcoder can only be closed. */
ZL_EXPORT int32_t zl_transcode(zl_transcoder *transcoder, const uint8_t *input, uint32_t length,
                               uint8_t *output, uint32_t room, zl_progress *progress);

/* A zl_progress for callers that have no memory of their own in here. */
ZL_EXPORT zl_progress *zl_progress_slot(void);

/* Bytes left of a body that is passed on as it comes, up to 2^32 - 1. */
ZL_EXPORT uint32_t zl_body_left(const zl_transcoder *transcoder);
/* The caller has passed on so many bytes of it, which are no more than that. */
ZL_EXPORT void zl_body_taken(zl_transcoder *transcoder, uint32_t bytes);

/* The part that ZL_LARGE_PART announced. */
typedef struct {
  uint64_t body_bytes; /* of its frame */
  uint32_t place;      /* ZL_FIRST and ZL_LAST or'ed */
  uint32_t index;      /* in its message */
} zl_large;

ZL_EXPORT const zl_large *zl_large_part(const zl_transcoder *transcoder);

/* Writes the frame header for the transcoded body of `low`, `high` bytes to
 * `target`, which has room for 9 bytes, counts the part and goes on behind it.
 * Returns the header's length. */
ZL_EXPORT uint32_t zl_large_done(zl_transcoder *transcoder, uint8_t *target, uint32_t low,
                                 uint32_t high);

/* The dictionary that has been shipped or, by a receiving transcoder, installed; 0
 * when there is none. */
ZL_EXPORT const zl_dictionary *zl_transcoder_dictionary(const zl_transcoder *transcoder);
/* The receiver of a receiving transcoder; its life is the transcoder's. */
ZL_EXPORT zl_receiver *zl_transcoder_receiver(zl_transcoder *transcoder);
/* The bytes of the greeting seen so far, up to 32, and their number. */
ZL_EXPORT const uint8_t *zl_greeting_seen(const zl_transcoder *transcoder);
ZL_EXPORT uint32_t zl_greeting_count(const zl_transcoder *transcoder);
/* The index in its message of the part that is being read. */
ZL_EXPORT uint32_t zl_part_index(const zl_transcoder *transcoder);
/* Whether the output has the beginning of a message and not yet its end: 1 or 0. */
ZL_EXPORT uint32_t zl_inside_message(const zl_transcoder *transcoder);

#endif
