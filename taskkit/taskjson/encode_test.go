package taskjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskjson"
)

// written returns what one call writes, and checks that it was appended.
func written(t *testing.T, f func(e *taskjson.Encoder)) (string, error) {
	t.Helper()
	e := taskjson.NewEncoder([]byte("before"))
	f(&e)
	out, err := e.Finish()
	rest, ok := strings.CutPrefix(string(out), "before")
	if !ok || err != nil && rest != "" {
		t.Fatalf("wrote over what was there: %q, %v", out, err)
	}
	return rest, err
}

func TestEncodeLikeEncodingJSON(t *testing.T) {
	t.Parallel()
	compare := func(v any, f func(e *taskjson.Encoder)) {
		t.Helper()
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := written(t, f); err != nil || got != string(want) {
			t.Errorf("%#v: got %s, %v, want %s", v, got, err, want)
		}
	}
	for _, s := range []string{"", "plain", `"\/`, "<a href='&'>", "\b\f\n\r\t\v\x1f\x7f", "é😀\u2027\u2028\u2029\u202a", "\ufffd"} {
		compare(s, func(e *taskjson.Encoder) { e.String(s) })
	}
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1.5, 1e20, 1e21, 123456789e-15, 1e-6, 9.9e-7, 1e-9, 1e-10, 1e100,
		math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pi, 100, 1 << 53,
	} {
		compare(v, func(e *taskjson.Encoder) { e.Float(v, 64) })
		compare(float32(v/1e300), func(e *taskjson.Encoder) { e.Float(float64(float32(v/1e300)), 32) })
		if f := float32(v); !math.IsInf(float64(f), 0) {
			compare(f, func(e *taskjson.Encoder) { e.Float(float64(f), 32) })
		}
	}
	for _, v := range [][]byte{nil, {}, {0, 255, 1}, []byte("four")} {
		compare(v, func(e *taskjson.Encoder) { e.Bytes(v) })
	}
	for _, v := range []uuid.UUID{{}, uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), uuid.Max} {
		compare(v, func(e *taskjson.Encoder) { e.UUID(v) })
	}
	for _, v := range []time.Time{{}, time.Unix(1, 1), time.Date(2026, 2, 3, 4, 5, 6, 7e8, time.FixedZone("x", -5400))} {
		compare(v, func(e *taskjson.Encoder) { e.Time(v) })
	}
	for _, v := range []json.RawMessage{nil, []byte(` { "a" : [ 1.0 , "<\u003c\u0041\/` + "\u2028" + `" ] } `), []byte("1e5")} {
		compare(v, func(e *taskjson.Encoder) { e.Raw(v) })
	}
	for _, v := range []int64{0, math.MinInt64, math.MaxInt64} {
		compare(v, func(e *taskjson.Encoder) { e.Int(v) })
		compare(uint64(v), func(e *taskjson.Encoder) { e.Uint(uint64(v)) })
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	// Every value is written as {"a":[0,VALUE]}.
	for _, c := range []struct {
		name    string
		value   func(e *taskjson.Encoder)
		problem taskjson.Problem
		pointer string
	}{
		{"NaN", func(e *taskjson.Encoder) { e.Float(math.NaN(), 64) }, taskjson.OutOfRange, "/a/1"},
		{"infinity", func(e *taskjson.Encoder) { e.Float(math.Inf(-1), 32) }, taskjson.OutOfRange, "/a/1"},
		{"NUL", func(e *taskjson.Encoder) { e.String("a\x00") }, taskjson.NUL, "/a/1"},
		{"bad UTF-8", func(e *taskjson.Encoder) { e.String("\xff") }, taskjson.BadUTF8, "/a/1"},
		{"surrogate", func(e *taskjson.Encoder) { e.String("\xed\xa0\x80") }, taskjson.BadUTF8, "/a/1"},
		{"year", func(e *taskjson.Encoder) { e.Time(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, taskjson.OutOfRange, "/a/1"},
		{"raw syntax", func(e *taskjson.Encoder) { e.Raw(json.RawMessage(`{"x":[1,}`)) }, taskjson.Syntax, "/a/1/x/1"},
		{"raw empty", func(e *taskjson.Encoder) { e.Raw(json.RawMessage{}) }, taskjson.Syntax, "/a/1"},
		{"raw duplicate", func(e *taskjson.Encoder) { e.Raw(json.RawMessage(`{"x":1,"x":2}`)) }, taskjson.DuplicateName, "/a/1/x"},
		{"raw NUL", func(e *taskjson.Encoder) { e.Raw(json.RawMessage(`{"x":"\u0000"}`)) }, taskjson.NUL, "/a/1/x"},
		{"raw deep", func(e *taskjson.Encoder) {
			e.Raw(json.RawMessage(strings.Repeat("[", 99) + strings.Repeat("]", 99)))
		}, taskjson.TooDeep, "/a/1" + strings.Repeat("/0", 98)},
		{"key", func(e *taskjson.Encoder) {
			e.BeginObject()
			e.Key("ok")
			e.Int(1)
			e.Key("\x00")
			e.Int(1)
			e.EndObject()
		}, taskjson.NUL, "/a/1"},
		{"method", func(e *taskjson.Encoder) { e.JSON(failing{}) }, taskjson.InvalidValue, "/a/1"},
		{"text method", func(e *taskjson.Encoder) { e.Text(failing{}) }, taskjson.InvalidValue, "/a/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := written(t, func(e *taskjson.Encoder) {
				e.BeginObject()
				e.Name("a")
				e.BeginArray()
				e.Element()
				e.Int(0)
				e.Element()
				c.value(e)
				e.EndArray()
				e.EndObject()
			})
			var got *taskjson.Error
			if !errors.As(err, &got) || got.Problem != c.problem || got.Pointer != c.pointer {
				t.Errorf("got %v, want %s at %s", err, c.problem, c.pointer)
			}
		})
	}
}

var errFailing = errors.New("no")

// failing cannot be written.
type failing struct{}

func (failing) MarshalJSON() ([]byte, error) { return nil, errFailing }
func (failing) MarshalText() ([]byte, error) { return nil, errFailing }

func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\x00", "<é\u2028>", "\xff", "\\u0000", `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := written(t, func(e *taskjson.Encoder) { e.String(s) })
		if good := utf8.ValidString(s) && !strings.Contains(s, "\x00"); good != (err == nil) {
			t.Fatalf("%q: %v", s, err)
		}
		if err != nil {
			return
		}
		if want, _ := json.Marshal(s); got != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
		d := taskjson.NewDecoder([]byte(got))
		if back := d.String(); d.Finish() != nil || back != s {
			t.Fatalf("%q came back as %q: %v", s, back, d.Finish())
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"x","raw":{"a":[1]},"tags":["a"],"scores":{"b":1e3},"pair":[1,2]}`))
	f.Add([]byte(`{"name":"\ud800"}`))
	f.Add([]byte(`{"raw":[[[[["\u0000"]]]]]}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		var got, want item
		err := decodeItem(src, &got)
		if err != nil {
			var e *taskjson.Error
			if !errors.As(err, &e) || e.Detail == "" {
				t.Fatalf("%q: %v", src, err)
			}
			return
		}
		if err := json.Unmarshal(src, &want); err != nil {
			t.Fatalf("%q is accepted, and encoding/json says %v", src, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Fatalf("%q\ngot  %s\nwant %s", src, a, b)
		}
	})
}
