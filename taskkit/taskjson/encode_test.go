package taskjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

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
	var numbers []int64
	for n := int64(1); n > 0 && n < math.MaxInt64/10; n *= 10 {
		numbers = append(numbers, n-1, n, -n, n*9, n+1)
	}
	for i := range 63 {
		numbers = append(numbers, 1<<i, 1<<i-1)
	}
	for _, v := range append(numbers, math.MinInt64, math.MaxInt64, -1) {
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
				taskjson.WriteSlice(e, []func(*taskjson.Encoder){func(e *taskjson.Encoder) { e.Int(0) }, c.value},
					func(e *taskjson.Encoder, write func(*taskjson.Encoder)) { write(e) })
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

// TestEncodePieces: what generated code writes in one piece is what it writes
// call by call, and fails at the same depth.
func TestEncodePieces(t *testing.T) {
	t.Parallel()
	for _, dst := range [][]byte{nil, {}, []byte("before"), make([]byte, 0, 100)} {
		for _, size := range []int{0, 1, 64} {
			e := taskjson.NewEncoderSize(dst, size)
			e.Open(`{"a":`)
			e.Int(-12)
			e.Next(`,"b":`)
			e.Uint(math.MaxUint64)
			e.Name("c")
			e.Null()
			e.EndObject()
			out, err := e.Finish()
			if want := string(dst) + `{"a":-12,"b":18446744073709551615,"c":null}`; err != nil || string(out) != want {
				t.Errorf("after %q: got %s, %v, want %s", dst, out, err, want)
			}
		}
	}
	_, err := written(t, func(e *taskjson.Encoder) {
		for range taskjson.MaxDepth + 1 {
			e.Open(`{"a":`)
		}
	})
	var e *taskjson.Error
	if !errors.As(err, &e) || e.Problem != taskjson.TooDeep {
		t.Errorf("got %v, want too deep", err)
	}
}

// TestEncodeTooLarge: what may be stored has a size, whatever it is appended to.
func TestEncodeTooLarge(t *testing.T) {
	t.Parallel()
	for extra, want := range map[int]bool{0: true, 1: false} {
		_, err := written(t, func(e *taskjson.Encoder) { e.String(strings.Repeat("x", taskjson.MaxSize-2+extra)) })
		var e *taskjson.Error
		if (err == nil) != want || err != nil && (!errors.As(err, &e) || e.Problem != taskjson.TooLarge || e.Pointer != "") {
			t.Errorf("%d bytes more than fit: got %v", extra, err)
		}
	}
}

// A codec that works by reflection writes nil as a generated one does, so that what was absent does not become empty.
func TestReflectedWritesNil(t *testing.T) {
	t.Parallel()
	type values struct {
		List  []int          `json:"list"`
		Map   map[string]int `json:"map"`
		Bytes []byte         `json:"bytes"`
	}
	c := taskjson.Reflected[values]()
	for want, v := range map[string]values{
		`{"list":null,"map":null,"bytes":null}`: {},
		`{"list":[],"map":{},"bytes":""}`:       {[]int{}, map[string]int{}, []byte{}},
	} {
		got, err := c.Append(nil, &v)
		if err != nil || string(got) != want {
			t.Errorf("%+v is written as %s, %v, want %s", v, got, err, want)
		}
		var again values
		if err := c.Decode(got, &again); err != nil || !reflect.DeepEqual(again, v) {
			t.Errorf("%s is read as %#v, %v", got, again, err)
		}
	}
}
