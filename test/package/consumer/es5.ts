import { type Lz4, Push } from "zeromq-lz4"
import { CaptureReader } from "zeromq-lz4/capture"
import { Codec } from "zeromq-lz4/codec"
import { Client } from "zeromq-lz4/draft"
import { socket } from "zeromq-lz4/v5-compat"

/** Compiled, not run: every entry. */
export const all = [Push, CaptureReader, Codec, Client, socket]

/** Types of classes with private members only match themselves. */
export type Members<T> = { [Name in keyof T]: T[Name] }
export declare const members: Members<Lz4> & Members<CaptureReader>
// @ts-expect-error
export const lz4: Lz4 = members
