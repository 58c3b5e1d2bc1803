// Package taskjson is the runtime of the marshalling code that taskgen generates.
// It is public because generated code lives in users' modules. Do not use it in
// code of your own: its functions may change with any version of taskgen.
//
// # Writing
//
// An [Encoder] appends to a byte slice. For every value that both accept it
// writes the bytes that encoding/json writes: names in the order of the fields,
// the keys of maps sorted, floats as JavaScript does, []byte in base64, and
// <, >, & and the two line separators of Unicode escaped. It refuses what
// encoding/json or a database would change silently: bad UTF-8, the NUL
// character, NaN and infinities.
//
// # Reading
//
// A [Decoder] is strict, since what it drops or converts is lost with the next
// checkpoint. It refuses unknown names, duplicate names, names that differ from a
// known one only in case, wrong types, null where Go has no nil, numbers that do
// not fit, arrays of another length, bad UTF-8, lone surrogates, NUL, more than
// [MaxDepth] levels, more than [MaxSize] bytes, and anything after the value.
//
// It is a cursor over the source that finds where values end. When the source is
// not valid JSON, jsontext reads it again to say what is wrong and where. The tests
// compare each result with the result of a decoder built on jsontext's tokens.
//
// Both keep their first error and do nothing after it, so that generated code
// checks once, at the end. Each error is an [*Error] with a JSON pointer.
package taskjson
