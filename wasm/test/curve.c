/* Boxes, compared with libsodium's own, and MESSAGE commands. */
#include "../curve/curve.h"

#include <string.h>

#include "../bytes.h"
#include "crypto_secretbox.h"
#include "parts.h"
#include "samples.h"
#include "test.h"

#define HEAD ZL_MESSAGE_HEAD_BYTES

static uint32_t state = 7;

static void fill(uint8_t *at, size_t length) {
  for (size_t i = 0; i < length; i++)
    at[i] = (uint8_t)(sample_random(&state) >> 8);
}

static bytes random_bytes(size_t length) {
  bytes b = bytes_new(length);
  fill(b.at, length);
  return b;
}

/* -- Boxes ----------------------------------------------------------------------- */

static void check_box(uint32_t length) {
  uint8_t key[ZL_KEY_BYTES], nonce[ZL_NONCE_BYTES];
  fill(key, sizeof key);
  fill(nonce, sizeof nonce);
  bytes plain = random_bytes(length);
  bytes expected = bytes_new(ZL_MAC_BYTES + length);
  bytes sealed = bytes_new(ZL_MAC_BYTES + length);
  bytes opened = bytes_new(length);
  crypto_secretbox_easy(expected.at, plain.at, length, nonce, key);
  zl_box(key, nonce, plain.at, length, sealed.at);
  CHECK(bytes_equal(sealed, expected));
  CHECK_EQUAL(zl_box_open(key, nonce, sealed.at, ZL_MAC_BYTES + length, opened.at), length);
  CHECK(bytes_equal(opened, plain));
  for (uint32_t i = 0; i < ZL_MAC_BYTES + length; i += 1 + i / 40) {
    sealed.at[i] ^= (uint8_t)(1 << i % 8);
    memset(opened.at, 0, length);
    CHECK_EQUAL(zl_box_open(key, nonce, sealed.at, ZL_MAC_BYTES + length, opened.at), ZL_E_FORGED);
    for (uint32_t j = 0; j < length; j++)
      CHECK(opened.at[j] == 0);
    sealed.at[i] ^= (uint8_t)(1 << i % 8);
  }
  for (uint32_t shorter = 0; shorter < ZL_MAC_BYTES; shorter++)
    CHECK_EQUAL(zl_box_open(key, nonce, sealed.at, shorter, opened.at), ZL_E_FORGED);
  free(plain.at);
  free(expected.at);
  free(sealed.at);
  free(opened.at);
}

static void test_boxes(const void *of) {
  (void)of;
  for (uint32_t length = 0; length < 700; length += length < 130 ? 1 : 37)
    check_box(length);
}

static void test_shared_key(const void *of) {
  (void)of;
  uint8_t secrets[2][ZL_KEY_BYTES], public[2][ZL_KEY_BYTES], shared[2][ZL_KEY_BYTES];
  for (int round = 0; round < 5; round++) {
    for (int i = 0; i < 2; i++) {
      fill(secrets[i], ZL_KEY_BYTES);
      zl_public_key(secrets[i], public[i]);
    }
    for (int i = 0; i < 2; i++)
      CHECK_EQUAL(zl_shared_key(public[!i], secrets[i], shared[i]), 0);
    CHECK(zl_same(shared[0], shared[1], ZL_KEY_BYTES));
    shared[0][round] ^= 1;
    CHECK(!zl_same(shared[0], shared[1], ZL_KEY_BYTES));
    CHECK(zl_same(shared[0], shared[1], (uint32_t)round));
  }
}

static void test_low_order(const void *of) {
  (void)of;
  uint8_t secret[ZL_KEY_BYTES], shared[ZL_KEY_BYTES] = {0}, public[ZL_KEY_BYTES] = {0};
  fill(secret, sizeof secret);
  for (uint8_t low = 0; low < 2; low++) {
    for (int high = 0; high < 2; high++) {
      public[0] = low;
      public[31] = high ? 0x80 : 0; /* X25519 ignores this bit */
      CHECK_EQUAL(zl_shared_key(public, secret, shared), ZL_E_FORGED);
    }
  }
  for (size_t i = 0; i < sizeof shared; i++)
    CHECK(shared[i] == 0);
}

/* -- Messages -------------------------------------------------------------------- */

/* Both ends of one direction. */
typedef struct {
  zl_cipher *sender;
  zl_cipher *receiver;
} ends;

static ends open_from(uint64_t counter) {
  uint8_t key[ZL_KEY_BYTES];
  fill(key, sizeof key);
  const uint32_t low = (uint32_t)counter, high = (uint32_t)(counter >> 32);
  return (ends){zl_cipher_open(key, 0, low, high), zl_cipher_open(key, 0, low, high)};
}

static void close_ends(ends e) {
  zl_cipher_close(e.sender);
  zl_cipher_close(e.receiver);
}

static size_t put_frame(uint8_t *target, uint8_t flags, size_t length) {
  size_t head = 2;
  target[0] = flags;
  target[1] = (uint8_t)length;
  if (length > 255) {
    head = 9;
    target[0] = flags | 2;
    zl_write_u64be(target + 1, length);
  }
  fill(target + head, length);
  return head + length;
}

/* Frames of many lengths with each of the flags. */
static bytes some_frames(uint32_t *count) {
  static const size_t lengths[] = {0,  1,   30,  31,  32,  33,  64,  95,   96,
                                   97, 221, 222, 223, 254, 255, 256, 1000, 5000};
  static const uint8_t flags[] = {0, 1, 4};
  bytes frames = bytes_new(40000);
  frames.length = 0;
  *count = 0;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    for (size_t j = 0; j < sizeof flags; j++) {
      frames.length += put_frame(frames.at + frames.length, flags[j], lengths[i]);
      ++*count;
    }
  }
  return frames;
}

static bytes seal_all(zl_cipher *cipher, bytes frames) {
  bytes sealed = bytes_new(frames.length * 25);
  zl_crossing crossing;
  CHECK_EQUAL(zl_seal(cipher, frames.at, (uint32_t)frames.length, sealed.at,
                      (uint32_t)sealed.length, &crossing),
              0);
  CHECK_EQUAL(crossing.read, frames.length);
  sealed.length = crossing.written;
  return sealed;
}

static int32_t unseal(zl_cipher *cipher, bytes sealed, uint64_t max, bytes target,
                      zl_crossing *crossing) {
  return zl_unseal(cipher, sealed.at, (uint32_t)sealed.length, (uint32_t)max, (uint32_t)(max >> 32),
                   target.at, (uint32_t)target.length, crossing);
}

static void test_round_trip(const void *of) {
  (void)of;
  ends e = open_from(2);
  uint32_t count;
  bytes frames = some_frames(&count);
  bytes sealed = seal_all(e.sender, frames);
  bytes opened = bytes_new(frames.length + 64);
  zl_crossing crossing;
  CHECK_EQUAL(unseal(e.receiver, sealed, UINT64_MAX, opened, &crossing), 0);
  CHECK_EQUAL(crossing.read, sealed.length);
  CHECK_EQUAL(crossing.written, frames.length);
  opened.length = crossing.written;
  CHECK(bytes_equal(opened, frames));
  /* The same again is a replay. */
  CHECK_EQUAL(unseal(e.receiver, sealed, UINT64_MAX, opened, &crossing), ZL_E_COUNTER);
  CHECK_EQUAL(crossing.written, 0);
  free(sealed.at);
  free(opened.at);
  free(frames.at);
  close_ends(e);
}

/* Both directions have keys of their own, so that nobody's messages come back to him. */
static void test_reflected(const void *of) {
  (void)of;
  uint8_t key[ZL_KEY_BYTES];
  fill(key, sizeof key);
  uint8_t frame[2] = {0, 0};
  bytes opened = bytes_new(100);
  zl_crossing crossing;
  for (int32_t sender = 0; sender < 2; sender++) {
    for (int32_t receiver = 0; receiver < 2; receiver++) {
      ends e = {zl_cipher_open(key, sender, 0, 0), zl_cipher_open(key, receiver, 0, 0)};
      bytes sealed = seal_all(e.sender, (bytes){frame, sizeof frame});
      CHECK_EQUAL(unseal(e.receiver, sealed, UINT64_MAX, opened, &crossing),
                  sender == receiver ? 0 : ZL_E_FORGED);
      free(sealed.at);
      close_ends(e);
    }
  }
  free(opened.at);
}

/* All of it goes through whatever room there is, and however it is cut. */
static void test_little_by_little(const void *of) {
  (void)of;
  ends e = open_from(0);
  uint32_t count;
  bytes frames = some_frames(&count);
  bytes sealed = bytes_new(frames.length + 60 * count);
  sealed.length = 0;
  zl_crossing crossing;
  for (size_t at = 0; at < frames.length;) {
    bytes room = bytes_new(5100); /* too little for all, enough for each */
    bytes source = bytes_copy(frames.at + at, frames.length - at);
    CHECK_EQUAL(zl_seal(e.sender, source.at, (uint32_t)source.length, room.at,
                        (uint32_t)room.length, &crossing),
                0);
    CHECK(crossing.read > 0);
    memcpy(sealed.at + sealed.length, room.at, crossing.written);
    sealed.length += crossing.written;
    at += crossing.read;
    free(room.at);
    free(source.at);
    if (crossing.read == 0) break;
  }
  bytes opened = bytes_new(frames.length);
  opened.length = 0;
  size_t have = 1;
  for (size_t at = 0; at < sealed.length;) {
    if (have > sealed.length - at) have = sealed.length - at;
    bytes piece = bytes_copy(sealed.at + at, have);
    bytes room = bytes_new(5100);
    CHECK_EQUAL(unseal(e.receiver, piece, UINT64_MAX, room, &crossing), 0);
    memcpy(opened.at + opened.length, room.at, crossing.written);
    opened.length += crossing.written;
    at += crossing.read;
    if (crossing.read == 0 && have >= 6000) break;
    have = crossing.read ? 1 + have % 97 : have + 1;
    free(piece.at);
    free(room.at);
  }
  CHECK(bytes_equal(opened, frames));
  free(frames.at);
  free(sealed.at);
  free(opened.at);
  close_ends(e);
}

static void check_every_bit(uint8_t flags) {
  uint8_t frame[50];
  const size_t length = put_frame(frame, flags, 40);
  zl_crossing crossing;
  for (size_t bit = 0;; bit++) {
    ends e = open_from(1);
    bytes sealed = seal_all(e.sender, (bytes){frame, length});
    bytes opened = bytes_new(100);
    const int done = bit == 8 * sealed.length;
    if (!done) sealed.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    const int32_t status = unseal(e.receiver, sealed, UINT64_MAX, opened, &crossing);
    /* A frame may be a command, as RFC 26 has it, and repeat the MORE that is inside. With LONG or
     * a longer length it is not whole. */
    const int is_open = bit == 2 || (bit == 0 && flags == 1);
    const int is_longer = bit == 1 || (bit / 8 == 1 && sealed.at[1] > 2 + HEAD + 39);
    if (done || is_open)
      CHECK(status == 0 && crossing.written == length);
    else
      CHECK(status < 0 || (is_longer && status == 0));
    if (!done && !is_open) CHECK_EQUAL(crossing.written, 0);
    free(sealed.at);
    free(opened.at);
    close_ends(e);
    if (done) return;
  }
}

static void test_every_bit(const void *of) {
  (void)of;
  check_every_bit(0);
  check_every_bit(1);
}

static int32_t refused(const char *frame, size_t length, uint64_t max) {
  ends e = open_from(5);
  bytes sealed = bytes_copy((const uint8_t *)frame, length);
  bytes opened = bytes_new(200);
  zl_crossing crossing;
  const int32_t status = unseal(e.receiver, sealed, max, opened, &crossing);
  CHECK_EQUAL(crossing.read, 0);
  CHECK_EQUAL(crossing.written, 0);
  free(sealed.at);
  free(opened.at);
  close_ends(e);
  return status;
}

#define REFUSED(text, max) refused(text, sizeof(text) - 1, max)

static void test_refused(const void *of) {
  (void)of;
  CHECK_EQUAL(REFUSED("\0", 99), 0);
  CHECK_EQUAL(REFUSED("\10", 99), 0); /* half a head */
  CHECK_EQUAL(REFUSED("\10\0", 99), ZL_E_MESSAGE_HEAD);
  CHECK_EQUAL(REFUSED("\2\x80\0\0\0\0\0\0\0", 99), ZL_E_MESSAGE_HEAD);
  CHECK_EQUAL(REFUSED("\0\0", 99), ZL_E_NOT_MESSAGE);
  CHECK_EQUAL(REFUSED("\0\5hello", 99), ZL_E_NOT_MESSAGE);
  CHECK_EQUAL(REFUSED("\0\7\7MESSAG", 99), ZL_E_NOT_MESSAGE);
  CHECK_EQUAL(REFUSED("\0\10\7MESSAGE", 99), ZL_E_MESSAGE_TOO_SHORT);
  CHECK_EQUAL(REFUSED("\4\40\7MESSAGE", 99), ZL_E_MESSAGE_TOO_SHORT); /* 32 bytes to come */
  CHECK_EQUAL(REFUSED("\4\41\7MESSAGE", 99), 0);
  CHECK_EQUAL(REFUSED("\0\41\7ME", 99), 0);
  CHECK_EQUAL(REFUSED("\0\41\7Me", 99), ZL_E_NOT_MESSAGE);
  CHECK_EQUAL(REFUSED("\0\144\7MESSAGE", 99), ZL_E_MESSAGE_TOO_LARGE);
  CHECK_EQUAL(REFUSED("\0\144", 99), ZL_E_MESSAGE_TOO_LARGE);
  CHECK_EQUAL(REFUSED("\2\x7f\xff\xff\xff\xff\xff\xff\xff", UINT64_MAX), 0);
  CHECK_EQUAL(REFUSED("\2\0\0\0\1\0\0\0\41", 0x100000020), ZL_E_MESSAGE_TOO_LARGE);
  CHECK_EQUAL(REFUSED("\2\0\0\0\1\0\0\0\41", 0x100000021), 0);
  CHECK_EQUAL(REFUSED("\0\41\7MESSAGE\0\0\0\0\0\0\0\5................X", 99), ZL_E_COUNTER);
  CHECK_EQUAL(REFUSED("\0\41\7MESSAGE\0\0\0\0\0\0\0\0................X", 99), ZL_E_COUNTER);
  CHECK_EQUAL(REFUSED("\0\41\7MESSAGE\0\0\0\0\0\0\0\6................X", 99), ZL_E_FORGED);
}

/* Frames before one that is refused have been opened. */
static void test_good_before_bad(const void *of) {
  (void)of;
  ends e = open_from(0);
  uint8_t frame[12];
  const size_t length = put_frame(frame, 0, 10);
  bytes one = seal_all(e.sender, (bytes){frame, length});
  bytes both = bytes_new(one.length + 2);
  memcpy(both.at, one.at, one.length);
  memset(both.at + one.length, 0, 2);
  bytes opened = bytes_new(100);
  zl_crossing crossing;
  CHECK_EQUAL(unseal(e.receiver, both, UINT64_MAX, opened, &crossing), ZL_E_NOT_MESSAGE);
  CHECK_EQUAL(crossing.read, one.length);
  CHECK_EQUAL(crossing.written, length);
  CHECK(memcmp(opened.at, frame, length) == 0);
  free(one.at);
  free(both.at);
  free(opened.at);
  close_ends(e);
}

static void test_counters(const void *of) {
  (void)of;
  ends e = open_from(UINT64_MAX - 2);
  uint8_t frame[3 * 2] = {0};
  bytes opened = bytes_new(100);
  bytes sealed = bytes_new(200);
  zl_crossing crossing;
  CHECK_EQUAL(zl_seal(e.sender, frame, sizeof frame, sealed.at, 200, &crossing), ZL_E_USED_UP);
  CHECK_EQUAL(crossing.read, 4);
  CHECK_EQUAL(zl_seal(e.sender, frame, sizeof frame, sealed.at + 100, 100, &crossing),
              ZL_E_USED_UP);
  CHECK_EQUAL(zl_seal_begin(e.sender, 0, 0, 0, sealed.at + 100), ZL_E_USED_UP);
  CHECK_EQUAL(zl_read_u64be(sealed.at + 2 + 8), UINT64_MAX - 1);
  CHECK_EQUAL(zl_read_u64be(sealed.at + 2 + HEAD + 1 + 2 + 8), UINT64_MAX);
  sealed.length = 2 * (2 + HEAD + 1);
  CHECK_EQUAL(unseal(e.receiver, sealed, 99, opened, &crossing), 0);
  CHECK_EQUAL(crossing.written, 4);
  CHECK_EQUAL(unseal(e.receiver, sealed, 99, opened, &crossing), ZL_E_COUNTER);
  free(opened.at);
  free(sealed.at);
  close_ends(e);
}

/* -- Messages in pieces ------------------------------------------------------------ */

/* What is sealed in pieces of a length is what is sealed at once, and opens in pieces of another.
 */
static void test_pieces(const void *of) {
  (void)of;
  enum { LENGTH = 3000 };
  static const uint32_t steps[] = {1, 31, 32, 63, 64, 65, 100, 1024, LENGTH};
  enum { STEPS = sizeof steps / sizeof *steps };
  for (uint32_t s = 0; s < STEPS; s++) {
    uint8_t frame[9 + LENGTH];
    put_frame(frame, 4, LENGTH);
    uint8_t key[ZL_KEY_BYTES];
    fill(key, sizeof key);
    zl_cipher *whole = zl_cipher_open(key, 1, 3, 0);
    zl_cipher *pieces = zl_cipher_open(key, 1, 3, 0);
    zl_cipher *peer = zl_cipher_open(key, 1, 3, 0);
    bytes expected = seal_all(whole, (bytes){frame, sizeof frame});
    bytes sealed = bytes_new(expected.length);
    const int32_t head = zl_seal_begin(pieces, 4, LENGTH, 0, sealed.at);
    CHECK_EQUAL(head, ZL_MESSAGE_PREFIX_MAX);
    memcpy(sealed.at + head, frame + 9, LENGTH);
    for (uint32_t at = 0; at < LENGTH; at += steps[s])
      zl_seal_piece(sealed.at + head + at, LENGTH - at < steps[s] ? LENGTH - at : steps[s]);
    zl_seal_end(sealed.at + head - 1 - ZL_MAC_BYTES);
    CHECK(bytes_equal(sealed, expected));

    const uint32_t step = steps[STEPS - 1 - s];
    for (int tampered = 1; tampered >= 0; tampered--) {
      bytes body = bytes_copy(sealed.at + 9, sealed.length - 9);
      if (tampered) body.at[body.length - 1] ^= 1;
      zl_cipher *opener = tampered ? zl_cipher_open(key, 1, 3, 0) : peer;
      CHECK_EQUAL(zl_unseal_begin(opener, body.at), 0);
      for (uint32_t at = HEAD; at < body.length; at += step)
        zl_unseal_piece(body.at + at,
                        body.length - at < step ? (uint32_t)(body.length - at) : step);
      CHECK_EQUAL(zl_unseal_end(), tampered ? ZL_E_FORGED : 0);
      if (!tampered) {
        CHECK_EQUAL(zl_message_flags(body.at[HEAD]), 4);
        CHECK(memcmp(body.at + HEAD + 1, frame + 9, LENGTH) == 0);
      } else {
        zl_cipher_close(opener);
      }
      free(body.at);
    }
    CHECK_EQUAL(zl_unseal_begin(peer, sealed.at + 9), ZL_E_COUNTER);
    CHECK_EQUAL(zl_unseal_begin(peer, sealed.at + 8), ZL_E_NOT_MESSAGE);
    zl_cipher_close(whole);
    zl_cipher_close(pieces);
    zl_cipher_close(peer);
    free(expected.at);
    free(sealed.at);
  }
}

int main(void) {
  RUN("boxes are libsodium's, and a changed bit is found before anything is written", test_boxes);
  RUN("both sides find the same key", test_shared_key);
  RUN("public keys of low order are refused", test_low_order);
  RUN("frames come back, once", test_round_trip);
  RUN("a side does not open what it sealed itself", test_reflected);
  RUN("any room and any cut give the same frames", test_little_by_little);
  RUN("every changed bit of a MESSAGE is found", test_every_bit);
  RUN("what is no MESSAGE is refused as soon as it shows", test_refused);
  RUN("frames before a bad one are opened", test_good_before_bad);
  RUN("counters end at 2^64 - 1", test_counters);
  RUN("pieces make the same bytes", test_pieces);
  return test_result();
}
