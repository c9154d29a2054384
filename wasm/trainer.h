/* The trainer of a sender: samples of its first messages, and the dictionary trained on them
 * (RFC.md section 6.4). */
#ifndef ZL_TRAINER_H
#define ZL_TRAINER_H

#include "cover.h"
#include "zeromq_lz4.h"

struct zl_trainer {
  uint32_t capacity;
  uint32_t trigger;
  uint32_t min_bytes; /* the threshold of parts once there is a dictionary */
  uint32_t messages;
  uint8_t *bytes; /* samples, until the training is over */
  uint32_t *ends;
  uint32_t room;
  uint32_t count;
  zl_trainer **place;    /* among the trainers that have samples; 0 if there are none */
  uint32_t latest;       /* when it took its latest sample */
  zl_training *training; /* 0 until it begins */
  const void *sampling;  /* the transcoder that is sampled: one of several that share the trainer */
  zl_dictionary *dictionary;
  uint8_t deferred; /* trained by the caller, not by the transcoder that is sampled */
  uint8_t done;     /* with or without a dictionary */
};

#endif
