package taskkit

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"taskkit.dev/taskkit/taskjson"
)

// JSONError says what is wrong in the JSON of a spec, state or result, and where
// by a JSON pointer. It is found with [errors.As].
type JSONError = taskjson.Error

// Codec writes a type as JSON and reads it back. taskgen makes one for each
// Spec, State and Result.
type Codec[T any] struct {
	// Append appends the JSON of v to dst.
	Append func(dst []byte, v *T) ([]byte, error)
	// Decode overwrites v with what src says, and refuses what it would lose:
	// unknown and duplicate names, wrong types, bad UTF-8, trailing data. The
	// error is a [*JSONError], and then nothing is promised about v.
	Decode func(src []byte, v *T) error
	// Strict says that Append and Decode hold to the rules of package taskjson
	// by themselves, as what taskgen makes does, but for the size of what Append
	// writes. Otherwise the runtime checks again.
	Strict bool
}

// Reflected returns a codec that works by reflection, for kinds that are
// written by hand, as in tests. What taskgen makes is faster.
func Reflected[T any]() Codec[T] {
	opts := json.JoinOptions(json.RejectUnknownMembers(true), json.Deterministic(true),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	return Codec[T]{
		Append: func(dst []byte, v *T) ([]byte, error) {
			buf := bytes.NewBuffer(dst)
			err := json.MarshalWrite(buf, v, opts)
			return buf.Bytes(), taskjson.Convert(err)
		},
		Decode: func(src []byte, v *T) error { return taskjson.Convert(json.Unmarshal(src, v, opts)) },
	}
}

// encode returns the JSON of v, held to the rules of what is stored.
func (c Codec[T]) encode(v *T) ([]byte, error) {
	out, err := c.Append(nil, v)
	switch {
	case err != nil:
		return nil, err
	case c.Strict:
		return out, checkSize(out)
	default:
		return out, checkJSON(out)
	}
}

// decode reads JSON from outside, held to the same rules.
func (c Codec[T]) decode(src []byte, v *T) error {
	if !c.Strict {
		if err := checkJSON(src); err != nil {
			return err
		}
	}
	return c.Decode(src, v)
}

// Report is the part of a [Definition] that asks an executor for its result.
// [ReportWith] makes one.
type Report[Spec, State any] func(ctx context.Context, x Executor[Spec, State], b *Batch[Spec, State]) ([]byte, error)

// ReportWith returns a [Report] for executors that implement [Reporter]. An
// executor that wraps another shows it by a method Unwrap() any.
func ReportWith[Spec, State, Result any](c Codec[Result]) Report[Spec, State] {
	return func(ctx context.Context, x Executor[Spec, State], b *Batch[Spec, State]) ([]byte, error) {
		var wrapped any = x
		r, ok := wrapped.(Reporter[Spec, State, Result])
		for !ok {
			u, more := wrapped.(interface{ Unwrap() any })
			if !more {
				return nil, nil
			}
			wrapped = u.Unwrap()
			r, ok = wrapped.(Reporter[Spec, State, Result])
		}
		v, err := r.Report(ctx, b)
		if err != nil {
			return nil, err
		}
		out, err := c.encode(&v)
		if err != nil {
			return nil, Permanent("unstorable_result", fmt.Errorf("encode result: %w", err))
		}
		return out, nil
	}
}
