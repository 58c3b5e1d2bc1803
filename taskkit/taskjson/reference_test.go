package taskjson_test

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskjson"
)

// reader is what generated code calls to read.
type reader interface {
	Null() bool
	BeginObject() bool
	BeginArray() bool
	More() bool
	End()
	Short(have, want int)
	Name() []byte
	Key() string
	TextKey(v encoding.TextUnmarshaler)
	Repeated()
	Once(seen *uint64, bit uint)
	Capacity(size int) int
	Members() int
	EndMap(members int)
	Unknown(name []byte, known ...string)
	Bool() bool
	Int() int
	Int8() int8
	Uint16() uint16
	Uint64() uint64
	Float32() float32
	Float64() float64
	String() string
	Bytes() []byte
	UUID() uuid.UUID
	Time() time.Time
	JSON(v json.Unmarshaler)
	Text(v encoding.TextUnmarshaler)
	Raw() json.RawMessage
	Finish() error
}

var (
	_ reader = (*taskjson.Decoder)(nil)
	_ reader = (*reference)(nil)
)

// reference reads with the tokens of jsontext only: slowly, and without a grammar
// of its own. A Decoder must accept what it accepts, with the same values, and
// report the same problems in the same places.
type reference struct {
	dec *jsontext.Decoder
	err *taskjson.Error
}

// newReference reads from a bytes.Buffer: from another reader jsontext takes the
// name in the pointer of a text that is cut short from where it was before the
// last refill, as "/raw/" for {"raw":{"a":"a}.
func newReference(src []byte) *reference {
	r := &reference{dec: jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true))}
	if len(src) > taskjson.MaxSize {
		r.err = &taskjson.Error{Problem: taskjson.TooLarge}
	}
	return r
}

func (r *reference) Finish() error {
	if r.err == nil {
		if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
			r.err = &taskjson.Error{Problem: taskjson.TrailingData}
		}
	}
	if r.err == nil {
		return nil
	}
	return r.err
}

func (r *reference) fail(p taskjson.Problem) {
	if r.err == nil {
		r.err = &taskjson.Error{Pointer: string(r.dec.StackPointer()), Problem: p}
	}
}

func (r *reference) failRead(err error) {
	if !errors.As(taskjson.Convert(err), &r.err) {
		panic(err)
	}
}

func (r *reference) value() jsontext.Value {
	if r.err != nil {
		return nil
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		r.failRead(err)
		return nil
	}
	return raw.Clone()
}

// of is value for values of some kinds.
func (r *reference) of(kinds string) jsontext.Value {
	raw := r.value()
	if raw != nil && !strings.ContainsRune(kinds, rune(raw.Kind())) {
		r.fail(taskjson.WrongType)
		return nil
	}
	return raw
}

func (r *reference) token() jsontext.Kind {
	if r.err != nil {
		return 0
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		r.failRead(err)
		return 0
	}
	return tok.Kind()
}

func (r *reference) Null() bool {
	return r.err == nil && r.dec.PeekKind() == 'n' && r.value() != nil
}

func (r *reference) begin(kind jsontext.Kind) bool {
	if r.err != nil {
		return false
	}
	if r.dec.PeekKind() != kind {
		r.of(string(rune(kind)))
		return false
	}
	if r.token(); r.err == nil && r.dec.StackDepth() > taskjson.MaxDepth {
		r.fail(taskjson.TooDeep)
	}
	return r.err == nil
}

func (r *reference) BeginObject() bool { return r.begin('{') }
func (r *reference) BeginArray() bool  { return r.begin('[') }

func (r *reference) More() bool {
	if r.err != nil {
		return false
	}
	k := r.dec.PeekKind()
	return k != '}' && k != ']' && k != jsontext.KindInvalid
}

func (r *reference) End() {
	if k := r.token(); k != 0 && k != '}' && k != ']' {
		r.fail(taskjson.WrongType)
	}
}

func (r *reference) Short(int, int) {
	r.End()
	r.fail(taskjson.WrongType)
}

func (r *reference) Name() []byte {
	raw := r.value()
	if raw == nil {
		return nil
	}
	text, err := jsontext.AppendUnquote([]byte{}, raw)
	if err != nil {
		panic(err) // ReadValue has accepted it
	}
	return text
}

func (r *reference) text() ([]byte, bool) {
	raw := r.of(`"`)
	if raw == nil {
		return nil, false
	}
	text, err := jsontext.AppendUnquote([]byte{}, raw)
	if err != nil {
		panic(err)
	}
	if bytes.IndexByte(text, 0) >= 0 {
		r.fail(taskjson.NUL)
		return nil, false
	}
	return text, true
}

func (r *reference) String() string {
	text, _ := r.text()
	return string(text)
}

func (r *reference) Key() string                        { return r.String() }
func (r *reference) TextKey(v encoding.TextUnmarshaler) { r.Text(v) }
func (r *reference) Repeated()                          { r.fail(taskjson.DuplicateName) }
func (r *reference) Capacity(int) int                   { return 0 }
func (r *reference) Members() int                       { return 0 }
func (r *reference) EndMap(int)                         { r.End() }

func (r *reference) Once(seen *uint64, bit uint) {
	if *seen&(1<<bit) != 0 {
		r.fail(taskjson.DuplicateName)
	}
	*seen |= 1 << bit
}

func (r *reference) Unknown(name []byte, known ...string) {
	for _, k := range known {
		if strings.EqualFold(k, string(name)) {
			r.fail(taskjson.CollidingName)
		}
	}
	r.fail(taskjson.UnknownName)
}

func (r *reference) Bool() bool {
	raw := r.of("tf")
	return raw != nil && raw.Kind() == 't'
}

// number refuses what strconv does.
func (r *reference) number(err error, minus bool) {
	switch {
	case err == nil:
	case errors.Is(err, strconv.ErrRange) || minus:
		r.fail(taskjson.OutOfRange)
	default:
		r.fail(taskjson.WrongType)
	}
}

func (r *reference) Int() int         { return int(r.int(strconv.IntSize)) }
func (r *reference) Int8() int8       { return int8(r.int(8)) }
func (r *reference) Uint16() uint16   { return uint16(r.uint(16)) }
func (r *reference) Uint64() uint64   { return r.uint(64) }
func (r *reference) Float32() float32 { return float32(r.float(32)) }
func (r *reference) Float64() float64 { return r.float(64) }

func (r *reference) int(bits int) int64 {
	raw := r.of("0")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, bits)
	r.number(err, false)
	return n
}

func (r *reference) uint(bits int) uint64 {
	raw := r.of("0")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(raw), 10, bits)
	r.number(err, raw[0] == '-')
	return n
}

func (r *reference) float(bits int) float64 {
	raw := r.of("0")
	if raw == nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	r.number(err, false)
	return f
}

// refused refuses a value for its own error.
func (r *reference) refused(err error) {
	if err != nil {
		r.fail(taskjson.InvalidValue)
	}
}

func (r *reference) Bytes() []byte {
	text, ok := r.text()
	if !ok {
		return nil
	}
	out, err := base64.StdEncoding.DecodeString(string(text))
	r.refused(err)
	return out
}

func (r *reference) UUID() (id uuid.UUID) {
	if text, ok := r.text(); ok {
		r.refused(id.UnmarshalText(text))
	}
	return id
}

func (r *reference) Time() (t time.Time) {
	if raw := r.of(`"`); raw != nil {
		r.refused(t.UnmarshalJSON(raw))
	}
	return t
}

func (r *reference) Text(v encoding.TextUnmarshaler) {
	if text, ok := r.text(); ok {
		r.refused(v.UnmarshalText(text))
	}
}

func (r *reference) JSON(v json.Unmarshaler) {
	if raw := r.Raw(); raw != nil {
		r.refused(v.UnmarshalJSON(raw))
	}
}

// Raw holds a value to the rules token by token.
func (r *reference) Raw() json.RawMessage {
	raw := r.value()
	if raw == nil {
		return nil
	}
	within := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for {
		tok, err := within.ReadToken()
		problem := taskjson.Problem("")
		switch {
		case errors.Is(err, io.EOF):
			return json.RawMessage(raw)
		case err != nil:
			outer := r.dec.StackPointer()
			r.failRead(err)
			r.err.Pointer = string(outer) + r.err.Pointer
			return nil
		case within.StackDepth()+r.dec.StackDepth() > taskjson.MaxDepth:
			problem = taskjson.TooDeep
		case tok.Kind() == '"' && strings.Contains(tok.String(), "\x00"):
			problem = taskjson.NUL
		}
		if problem != "" {
			r.fail(problem)
			r.err.Pointer += string(within.StackPointer())
			return nil
		}
	}
}

// sameResult compares an error of taskjson with one of the reference, which has
// no Detail.
func sameResult(got, want error) bool {
	var g, w *taskjson.Error
	if errors.As(got, &g) != errors.As(want, &w) || (got == nil) != (want == nil) {
		return false
	}
	return got == nil || g.Problem == w.Problem && g.Pointer == w.Pointer &&
		g.Detail != "" && jsontext.Pointer(g.Pointer).IsValid()
}
