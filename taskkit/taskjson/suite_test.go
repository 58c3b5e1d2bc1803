package taskjson_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"taskkit.dev/taskkit/taskjson"
)

// The lists beside this file have the well-known categories of texts on which
// parsers of JSON differ: those that must be accepted, those that must be
// refused, and those that the specification allows a parser to accept or refuse.

// checkAll reads a text in every way: with Check, with Decoder.Raw, and as a field
// of each shape of a type. Each result must be the same as that of the reference.
func checkAll(t *testing.T, src string) *taskjson.Error {
	t.Helper()
	r := newReference([]byte(src))
	want := r.Raw()
	wantErr := r.Finish()
	if err := taskjson.Check([]byte(src)); !sameResult(err, wantErr) {
		t.Errorf("Check: got %.200v, by tokens %.200v", err, wantErr)
	}
	d := taskjson.NewDecoder([]byte(src))
	got := d.Raw()
	if err := d.Finish(); !sameResult(err, wantErr) {
		t.Errorf("Raw: got %.200v, by tokens %.200v", err, wantErr)
	}
	if wantErr == nil && string(got) != string(want) {
		t.Errorf("Raw: got %q, by tokens %q", got, want)
	}
	d = taskjson.NewDecoder([]byte(src))
	begin, end := d.Span()
	if err := d.Finish(); !sameResult(err, wantErr) {
		t.Errorf("Span: got %.200v, by tokens %.200v", err, wantErr)
	}
	if wantErr == nil && src[begin:end] != string(want) {
		t.Errorf("Span: got %q, by tokens %q", src[begin:end], want)
	}
	for _, whole := range []string{src, `{"raw":` + src + `}`, `{"tags":` + src + `}`, `{"items":[{"scores":` + src + `}]}`} {
		var mine, theirs item
		err, wantErr := decodeItem([]byte(whole), &mine), decodeBy(newReference([]byte(whole)), &theirs)
		if !sameResult(err, wantErr) {
			t.Errorf("%.60s: got %.200v, by tokens %.200v", whole, err, wantErr)
		}
	}
	var e *taskjson.Error
	errors.As(wantErr, &e)
	return e
}

// problemOf returns the problem, or "".
func problemOf(e *taskjson.Error) taskjson.Problem {
	if e == nil {
		return ""
	}
	return e.Problem
}

func TestSuiteAccepted(t *testing.T) {
	t.Parallel()
	for _, c := range accepted {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if !json.Valid([]byte(c.src)) {
				t.Fatal("this is in the wrong list")
			}
			if got := problemOf(checkAll(t, c.src)); got != c.problem {
				t.Errorf("%.60q: got %q, want %q", c.src, got, c.problem)
			}
			if err := decodeItem([]byte(`{"raw":`+c.src+`}`), new(item)); c.problem == "" && err != nil &&
				!strings.HasSuffix(c.name, "100_levels") { // one more as a field
				t.Errorf("%.60q as a field: %v", c.src, err)
			}
		})
	}
}

func TestSuiteRefused(t *testing.T) {
	t.Parallel()
	for name, src := range refused {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if json.Valid([]byte(src)) {
				t.Fatal("this is in the wrong list")
			}
			e := checkAll(t, src)
			bad := []taskjson.Problem{taskjson.Syntax, taskjson.TrailingData, taskjson.BadUTF8, taskjson.LoneSurrogate, taskjson.TooDeep}
			if !slices.Contains(bad, problemOf(e)) {
				t.Errorf("%.60q: got %q", src, problemOf(e))
			}
			if decodeItem([]byte(`{"raw":`+src+`}`), new(item)) == nil {
				t.Errorf("%.60q is accepted as a field", src)
			}
		})
	}
}

func TestSuiteFree(t *testing.T) {
	t.Parallel()
	for _, c := range free {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := problemOf(checkAll(t, c.src)); got != c.problem {
				t.Errorf("%.60q: got %q, want %q", c.src, got, c.problem)
			}
		})
	}
}

// TestSuiteNumbers: a number of any size is JSON, but not a number in Go.
func TestSuiteNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src                 string
		small, count, float taskjson.Problem
	}{
		{"123.456e-789", taskjson.WrongType, taskjson.WrongType, ""},
		{"123e-10000000", taskjson.WrongType, taskjson.WrongType, ""},
		{"-1e+9999", taskjson.WrongType, taskjson.OutOfRange, taskjson.OutOfRange},
		{"1.5e+9999", taskjson.WrongType, taskjson.WrongType, taskjson.OutOfRange},
		{"100000000000000000000", taskjson.OutOfRange, taskjson.OutOfRange, ""},
		{"-123123123123123123123123123123", taskjson.OutOfRange, taskjson.OutOfRange, ""},
		{"000", taskjson.Syntax, taskjson.Syntax, taskjson.Syntax},
		{"-0", "", taskjson.OutOfRange, ""},
		{"127", "", "", ""},
		{"128", taskjson.OutOfRange, "", ""},
		{"-128", "", taskjson.OutOfRange, ""},
		{"-129", taskjson.OutOfRange, taskjson.OutOfRange, ""},
		{"65535", taskjson.OutOfRange, "", ""},
		{"65536", taskjson.OutOfRange, taskjson.OutOfRange, ""},
		{"1e0", taskjson.WrongType, taskjson.WrongType, ""},
		{"1.0", taskjson.WrongType, taskjson.WrongType, ""},
	} {
		for field, want := range map[string]taskjson.Problem{
			`{"small":` + c.src + `}`:        c.small,
			`{"count":` + c.src + `}`:        c.count,
			`{"scores":{"x":` + c.src + `}}`: c.float,
		} {
			err := decodeItem([]byte(field), new(item))
			var e *taskjson.Error
			errors.As(err, &e)
			if problemOf(e) != want {
				t.Errorf("%s: got %v, want %q", field, err, want)
			}
		}
	}
	for _, c := range []struct {
		src  string
		bits int
		fits bool
	}{
		{"9223372036854775807", 64, true},
		{"9223372036854775808", 64, false},
		{"-9223372036854775808", 64, true},
		{"-9223372036854775809", 64, false},
		{"999999999999999999", 64, true},
		{"-2147483648", 32, true},
		{"2147483648", 32, false},
		{"32768", 16, false},
	} {
		d := taskjson.NewDecoder([]byte(c.src))
		var n int64
		switch c.bits {
		case 16:
			n = int64(d.Int16())
		case 32:
			n = int64(d.Int32())
		default:
			n = d.Int64()
		}
		err := d.Finish()
		if back := strconv.FormatInt(n, 10); (err == nil) != c.fits || c.fits && back != c.src {
			t.Errorf("%s in %d bits: got %d, %v", c.src, c.bits, n, err)
		}
	}
	for src, fits := range map[string]bool{"18446744073709551615": true, "18446744073709551616": false, "9223372036854775808": true} {
		d := taskjson.NewDecoder([]byte(src))
		n := d.Uint64()
		err := d.Finish()
		if back := strconv.FormatUint(n, 10); (err == nil) != fits || fits && back != src {
			t.Errorf("%s: got %d, %v", src, n, err)
		}
	}
}
