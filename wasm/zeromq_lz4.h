/* The exports of a module: the wire format of RFC.md for one thread. Those of a format are in lz4.h
 * and zstd.h of its directory.
 *
 * The exports are flat and integer-only; they never print, abort or call out.
 *
 * Memory. The caller owns every buffer that it passes. Nothing is kept past the call, except that a
 * dictionary's bytes are copied. The module owns the results of the zl_*_open functions until the
 * matching zl_*_close. A pointer from zl_scratch is valid until the next zl_scratch of the same
 * region. Any call may grow the memory, so views made before a call are stale after it.
 *
 * Units. All sizes are in bytes. A size that comes from the wire is 64 bits wide, and crosses into
 * JavaScript as two 32-bit halves.
 *
 * Errors. A negative return value is one of ZL_E_*. Outputs are then undefined, and everything that
 * was open stays usable. */
#ifndef ZEROMQ_LZ4_H
#define ZEROMQ_LZ4_H

#include <stdint.h>

#include "wire.h"

#ifdef __EMSCRIPTEN__
#define ZL_EXPORT __attribute__((used, visibility("default")))
#else
#define ZL_EXPORT
#endif

#define ZL_DICTIONARY_MAX 8192u
/* Size of the sentinel with which every part begins. */
#define ZL_SENTINEL_BYTES 4u

/* Errors: the rules that a peer can break, and two limits of this side. */
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
  ZL_E_PART_LIMIT = -17,
  ZL_E_PARTS = -18,
  ZL_E_NO_SIZE = -19,
  ZL_E_DICTIONARY_ID = -20,
  ZL_E_DICTIONARY = -21,
};

/* The form of a part on the wire. */
enum {
  ZL_PLAIN = 1,
  ZL_LZ4B = 2,
  ZL_LZ4M = 3,
  ZL_DICTIONARY = 4,
  ZL_ARENA = 5,
  ZL_FRAME = 6,
};

/* The position of a part in its message. A single part is both first and last. */
enum {
  ZL_FIRST = 1,
  ZL_LAST = 2,
};

/* -- Module ------------------------------------------------------------------ */

/* Returns ZL_BLOCK_MAX of this build. */
ZL_EXPORT uint32_t zl_block_max(void);
/* Returns ZL_PART_MAX of this build. */
ZL_EXPORT uint32_t zl_part_max(void);

enum {
  ZL_INPUT = 0,
  ZL_OUTPUT = 1,
  ZL_SCRATCH_REGIONS = 2,
};

/* Returns a region of at least `bytes` bytes with undefined content; 0 if memory runs out. */
ZL_EXPORT uint8_t *zl_scratch(uint32_t region, uint32_t bytes);

/* -- Dictionaries (RFC.md section 6) ----------------------------------------- */

/* A dictionary, shared by all who open the same bytes. */
typedef struct zl_dictionary zl_dictionary;

/* Opens a dictionary. `length` is 1..ZL_DICTIONARY_MAX. Returns 0 if the length is out of range or
 * memory runs out. */
ZL_EXPORT zl_dictionary *zl_dictionary_open(const uint8_t *bytes, uint32_t length);
/* Closes one opening of a dictionary, which may be 0. */
ZL_EXPORT void zl_dictionary_close(zl_dictionary *dictionary);
/* Returns 0 if the bytes of a dictionary are one of the format, or an error. */
ZL_EXPORT int32_t zl_dictionary_check(const zl_dictionary *dictionary);
ZL_EXPORT const uint8_t *zl_dictionary_bytes(const zl_dictionary *dictionary);
ZL_EXPORT uint32_t zl_dictionary_length(const zl_dictionary *dictionary);

/* -- Receiving (RFC.md section 5) -------------------------------------------- */

/* The receiving half of a connection: its dictionary and its budget. */
typedef struct zl_receiver zl_receiver;

/* A part between its head and its last block. JavaScript reads the first four fields, so their
 * order and width are part of the interface. */
typedef struct {
  uint64_t plain_bytes; /* plaintext of the part, as declared; set on errors too */
  uint64_t budget_left; /* of the message, before this part; set on errors too */
  uint32_t block_bytes; /* length of the next block */
  uint32_t block_plain; /* plaintext of the next block */
  uint64_t plain_left;  /* plaintext of the blocks after it */
  uint64_t wire_left;   /* bytes of the part after it */
  uint32_t kind;        /* ZL_PLAIN ... */
} zl_part;

/* Returns a zl_part for callers that have no memory of their own in the module. */
ZL_EXPORT zl_part *zl_part_slot(void);

/* Opens a receiver. `budget` limits the plaintext of one message over all its parts; all ones means
 * no limit. `revision` 1 refuses arenas, 2 reads them. Returns 0 if memory runs out. */
ZL_EXPORT zl_receiver *zl_receiver_open(uint32_t budget_low, uint32_t budget_high,
                                        uint32_t revision);
ZL_EXPORT void zl_receiver_close(zl_receiver *receiver);

/* Reads the head of a part of `wire` bytes. `head` holds its first ZL_HEAD_BYTES, or all of its
 * bytes if there are fewer. `place` is a combination of ZL_FIRST and ZL_LAST; the first part of a
 * message resets its budget. Returns the kind and fills `part`. Every check that does not need a
 * block has then been made. */
ZL_EXPORT int32_t zl_receive_head(zl_receiver *receiver, const uint8_t *head, uint32_t wire_low,
                                  uint32_t wire_high, uint32_t place, zl_part *part);

/* Decodes a complete part of at most ZL_PART_MAX bytes of plaintext, whose head was accepted, to
 * `target`. */
ZL_EXPORT int32_t zl_part_decode(const zl_receiver *receiver, const uint8_t *wire,
                                 uint32_t wire_bytes, zl_part *part, uint8_t *target);

/* Installs the dictionary of a part whose head was accepted. `bytes` is what follows
 * ZL_DICTIONARY_AT. */
ZL_EXPORT int32_t zl_receive_dictionary(zl_receiver *receiver, const uint8_t *bytes,
                                        uint32_t length);
/* Returns the installed dictionary, or 0. It lives as long as the receiver. */
ZL_EXPORT const zl_dictionary *zl_receiver_dictionary(const zl_receiver *receiver);

/* -- Sending (RFC.md section 5) ---------------------------------------------- */

/* Compression effort: that of the format, or ZL_NO_EFFORT, with which nothing is compressed. */
#define ZL_NO_EFFORT 0

/* Writes a compressed part for `plain` bytes to `target`, which has room for plain + 4 bytes.
 * Returns the part's length, or 0 if it is no shorter than a plain part and must be sent plain. */
ZL_EXPORT uint32_t zl_part_encode(zl_dictionary *dictionary, const uint8_t *source, uint32_t plain,
                                  uint8_t *target, int32_t effort);

/* -- Arenas (RFC.md appendix A) ---------------------------------------------- */

/* Size of an arena before its body, and the limits of its contents. */
#define ZL_ARENA_HEAD_BYTES 16u
#define ZL_ARENA_MAX 65536u
#define ZL_ARENA_MESSAGES_MAX 256u
#define ZL_ARENA_PARTS_MAX 4096u
/* Maximum size of a message that a sender puts into an arena, headers included. */
#define ZL_ARENA_MESSAGE_MAX 8192u

/* The contents of an arena. JavaScript reads all fields. */
typedef struct {
  uint32_t bytes; /* of all frames */
  uint32_t plain_bytes;
  uint32_t parts;
  uint32_t messages;
} zl_arena;

/* Returns a zl_arena for callers that have no memory of their own in the module. */
ZL_EXPORT zl_arena *zl_arena_slot(void);

/* Returns whether a message of `parts` parts, whose frames take `bytes` bytes, may share the arena
 * that `arena` counts, which begins as zeros. If so, adds the message to the counts, except to
 * plain_bytes. */
ZL_EXPORT uint32_t zl_arena_join(zl_arena *arena, uint32_t bytes, uint32_t parts);

/* Unpacks a complete LZ4A part whose head zl_receive_head has accepted to the ZL_ARENA_MAX bytes at
 * `target`: frames without envelopes, all of which have been checked. */
ZL_EXPORT int32_t zl_arena_read(zl_receiver *receiver, const uint8_t *wire, uint32_t wire_bytes,
                                uint8_t *target, zl_arena *arena);

/* Writes the part for `messages` messages of `parts` parts in all, whose frames take `length`
 * bytes, within the limits, to `target`, which has room for ZL_ARENA_HEAD_BYTES + length bytes.
 * Fewer than `min_bytes` bytes are stored uncompressed, and so are frames whose block would be too
 * short for their parts. Returns the part's length. */
ZL_EXPORT uint32_t zl_arena_encode(zl_dictionary *dictionary, const uint8_t *frames,
                                   uint32_t length, uint32_t messages, uint32_t parts,
                                   uint8_t *target, uint32_t min_bytes, int32_t effort);

/* -- Training (RFC.md section 6.4) ------------------------------------------- */

/* A trainer: collects the first messages of a sender and makes a dictionary from them.
 *
 * A module has at most 64 trainers with samples, and 1,024 open ones with samples or a dictionary.
 * The others wait: the messages of a waiting trainer are neither kept nor counted. A trainer that
 * took no samples while the others were offered 65,536 gives its own up, and waits as well. */
typedef struct zl_trainer zl_trainer;

/* Opens a trainer for dictionaries of up to `capacity` bytes (1 to ZL_DICTIONARY_MAX), after
 * `trigger` messages. `min_bytes` is the value for zl_sending_open. A transcoder trains a
 * dictionary itself once there are enough samples, unless `deferred` is set. Returns 0 if memory
 * runs out. */
ZL_EXPORT zl_trainer *zl_trainer_open(uint32_t capacity, uint32_t trigger, uint32_t min_bytes,
                                      uint32_t deferred);
/* `trainer` may be 0. Close the transcoders that use it first. */
ZL_EXPORT void zl_trainer_close(zl_trainer *trainer);
/* Returns the maximum bytes of the next part that are kept as a sample; 0 if the trainer waits, or
 * has enough. */
ZL_EXPORT uint32_t zl_trainer_wants(zl_trainer *trainer);
/* Keeps a copy of a part's beginning, if there is room for it. */
ZL_EXPORT void zl_trainer_sample(zl_trainer *trainer, const uint8_t *part, uint32_t length);
/* Counts a message whose parts were sampled. Returns whether there are enough now. */
ZL_EXPORT int zl_trainer_message(zl_trainer *trainer);
/* Returns whether there are enough, and the dictionary has not been made. */
ZL_EXPORT uint32_t zl_trainer_ready(const zl_trainer *trainer);
/* Makes the dictionary, which the trainer owns, and frees the samples. Returns 0 if a dictionary
 * would gain nothing. Call it once. */
zl_dictionary *zl_trainer_train(zl_trainer *trainer);
/* Does the same in steps. A step does at most about a quarter of the work and returns 1 while there
 * is more; then zl_trainer_finish returns the dictionary. Do not add samples in between. */
ZL_EXPORT uint32_t zl_trainer_step(zl_trainer *trainer);
ZL_EXPORT zl_dictionary *zl_trainer_finish(zl_trainer *trainer);

/* -- Transcoding a stream (RFC.md section 3) --------------------------------- */

/* One direction of a connection: reads a ZMTP byte stream, passes the greeting and commands on, and
 * rewrites message parts. Its output does not depend on how the stream is split into calls, except
 * for the messages that share an arena. */
typedef struct zl_transcoder zl_transcoder;

/* Bytes that a call consumed and produced. JavaScript reads all fields after the call. */
typedef struct {
  uint32_t consumed; /* bytes of the input that were used */
  uint32_t produced; /* bytes written to the output */
  uint32_t need;     /* see the status */
} zl_progress;

/* Status of zl_transcode. */
enum {
  /* The rest of the input is incomplete: at least `need` bytes of it must be available. */
  ZL_NEEDS_INPUT = 0,
  /* The output must be taken to make room. An empty output must have room for `need` bytes. */
  ZL_NEEDS_ROOM = 1,
  /* A part of over ZL_PART_MAX bytes follows; its frame header is consumed. The caller collects the
   * body, transcodes it and then calls zl_large_done. */
  ZL_LARGE_PART = 2,
  /* The next `need` bytes of the input belong to a body that is passed on unchanged and is too long
   * to copy. The caller takes them from the input and then calls zl_body_taken. */
  ZL_BODY = 3,
};

/* Counts since the start. It is the first field of a transcoder, so JavaScript reads it by the
 * pointer to that. */
typedef struct {
  uint64_t messages;
  uint64_t plain_bytes; /* plaintext of all parts */
  uint64_t wire_bytes;  /* the same parts on the wire, dictionaries included */
  uint32_t arenas;      /* parts that were arenas */
} zl_traffic;

/* Opens a transcoder from the wire to plain ZMTP, with the arguments of zl_receiver_open. If
 * `greeted` is set, the stream begins with frames. Returns 0 if memory runs out, as does
 * zl_sending_open. */
ZL_EXPORT zl_transcoder *zl_receiving_open(uint32_t budget_low, uint32_t budget_high,
                                           uint32_t revision, uint32_t greeted);
/* Refuses parts with more plaintext than `low`, `high` with ZL_E_PART_LIMIT, because the caller
 * cannot allocate that much, and messages of more than `parts` parts with ZL_E_PARTS. The default
 * is no limit. */
ZL_EXPORT void zl_receiving_limit(zl_transcoder *transcoder, uint32_t low, uint32_t high,
                                  uint32_t parts);
/* Sets whether parts that came compressed, without a dictionary and not in an arena, are passed on
 * as they came once they have been decoded, if they have at least ZL_KEPT_MIN bytes of plaintext:
 * in frames with the flag 8. Applies from the next part on. */
#define ZL_KEPT_MIN 512u
ZL_EXPORT void zl_receiving_keep(zl_transcoder *transcoder, uint32_t keeps);
/* Opens a transcoder from plain ZMTP to the wire. Parts of at least `min_bytes` bytes are
 * compressed, with `dictionary` once it has been shipped; the transcoder takes ownership of
 * `dictionary`, which may be 0. With `greeted`, the stream begins with frames, and the caller ships
 * the dictionary. With `arenas`, small messages in the same input share a part.
 * Several transcoders may share `trainer`, which is 0 if there is none or a dictionary is given:
 * the messages of one of them at a time are sampled, and all of them ship the result. */
ZL_EXPORT zl_transcoder *zl_sending_open(zl_dictionary *dictionary, uint32_t min_bytes,
                                         int32_t effort, uint32_t arenas, zl_trainer *trainer,
                                         uint32_t greeted);
/* Sets the effort of a sending transcoder from the next message on. With ZL_NO_EFFORT all parts are
 * sent plain, nothing is sampled, no dictionary is shipped and no arena made. */
ZL_EXPORT void zl_sending_effort(zl_transcoder *transcoder, int32_t effort);
/* Sets whether small messages share parts from the next message on. */
ZL_EXPORT void zl_sending_arenas(zl_transcoder *transcoder, uint32_t arenas);

/* Results of zl_sending_plan; larger values are a number of bytes. */
enum {
  ZL_GOES_PLAIN = 0,
  ZL_IS_TRIED = 1,
};
/* Returns how a sending transcoder between two parts will send the next part, of `low`, `high`
 * bytes: plain, or compressed if that makes it shorter. If parts of its size did not get shorter
 * lately, returns a number of bytes instead: the caller passes that many from the beginning of the
 * part and as many from its middle to zl_sending_shrinks, and the part is sent plain if that
 * returns 0. */
ZL_EXPORT uint32_t zl_sending_plan(zl_transcoder *transcoder, uint32_t low, uint32_t high);
ZL_EXPORT uint32_t zl_sending_shrinks(const zl_transcoder *transcoder, const uint8_t *sample,
                                      uint32_t length);
/* Writes a plain part without its body of `low`, `high` bytes to `target`, which has room for
 * ZL_PLAIN_HEAD_MAX bytes, and counts the part. The caller passes the body on itself. Returns the
 * bytes written. */
#define ZL_PLAIN_HEAD_MAX 13u
ZL_EXPORT uint32_t zl_sending_plain(zl_transcoder *transcoder, uint8_t *target, uint32_t more,
                                    uint32_t low, uint32_t high);
/* Counts a part of `low`, `high` bytes of plaintext that the caller passes on in the `wire_low`,
 * `wire_high` bytes in which it came. */
ZL_EXPORT void zl_sending_kept(zl_transcoder *transcoder, uint32_t more, uint32_t low,
                               uint32_t high, uint32_t wire_low, uint32_t wire_high);
ZL_EXPORT void zl_transcoder_close(zl_transcoder *transcoder);

/* Transcodes as much as possible of the `length` bytes at `input` to the `room` bytes at `output`,
 * which must not overlap. Returns a status or an error, after which the transcoder can only be
 * closed. */
ZL_EXPORT int32_t zl_transcode(zl_transcoder *transcoder, const uint8_t *input, uint32_t length,
                               uint8_t *output, uint32_t room, zl_progress *progress);

/* Returns a zl_progress for callers that have no memory of their own in the module. */
ZL_EXPORT zl_progress *zl_progress_slot(void);

/* Returns the bytes left of a body that is passed on unchanged, up to 2^32 - 1. */
ZL_EXPORT uint32_t zl_body_left(const zl_transcoder *transcoder);
/* Tells the transcoder that the caller has passed on `bytes` of that body, at most all of it. */
ZL_EXPORT void zl_body_taken(zl_transcoder *transcoder, uint32_t bytes);

/* The part that ZL_LARGE_PART announced. */
typedef struct {
  uint64_t body_bytes; /* of its frame */
  uint32_t place;      /* ZL_FIRST and ZL_LAST or'ed */
  uint32_t index;      /* in its message */
} zl_large;

ZL_EXPORT const zl_large *zl_large_part(const zl_transcoder *transcoder);

/* Writes the frame header for the transcoded body of `low`, `high` bytes to `target`, which has
 * room for 9 bytes, counts the part and moves past it. Returns the header's length. */
ZL_EXPORT uint32_t zl_large_done(zl_transcoder *transcoder, uint8_t *target, uint32_t low,
                                 uint32_t high);

/* Returns the dictionary that was shipped or, by a receiving transcoder, installed; 0 if there is
 * none. */
ZL_EXPORT const zl_dictionary *zl_transcoder_dictionary(const zl_transcoder *transcoder);
/* Returns the receiver of a receiving transcoder, which lives as long as the transcoder. */
ZL_EXPORT zl_receiver *zl_transcoder_receiver(zl_transcoder *transcoder);
/* Returns the bytes of the greeting seen so far, up to 32, and their number. */
ZL_EXPORT const uint8_t *zl_greeting_seen(const zl_transcoder *transcoder);
ZL_EXPORT uint32_t zl_greeting_count(const zl_transcoder *transcoder);
/* Returns the index in its message of the part that is being read. */
ZL_EXPORT uint32_t zl_part_index(const zl_transcoder *transcoder);
/* Returns 1 if the output ends in the middle of a message, otherwise 0. */
ZL_EXPORT uint32_t zl_inside_message(const zl_transcoder *transcoder);

#endif
