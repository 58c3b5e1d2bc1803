package taskjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"taskkit.dev/taskkit/taskjson"
)

// seeds are sources from which the fuzzer begins; what it found beyond them is
// in testdata/fuzz.
var seeds = []string{
	`{"id":"01890a5d-ac96-774b-bcce-b302099a8057","name":"x","small":-1,"count":7,"ratio":1.5e3,"on":true}`,
	`{"bytes":"AP8=","when":"2026-01-02T03:04:05.000000001+02:00","raw":{"a":[1]},"tags":["a"],"scores":{"b":1e3},"pair":[1,2]}`,
	`{"big":12345678901234567890,"colors":{"0a0b":1},"items":[{"name":"é\u00e9\ud83d\ude00"},{}]}`,
	` { "tags" : [ "a" , "b\\u0000" ] , "raw" : [ "\\u0000" , { } ] } `,
	`{"name":"\ud800"}`, `{"raw":[[[[["\u0000"]]]]]}`, `{"raw":{"a":1,"a":2}}`, `{"name" "x"}`, `{"Name":1}`,
	`{"name":[1,}`, `{"small":01}`, `{"small":1.}`, `{"count":-0}`, `{"pair":[1,2,3]}`, `{"pair":[1]}`, `{"tags":["a",]}`,
	"{\"name\":\"12345678\xff\"}", "{\"name\":\"1234567\x1f\"}", `{"bytes":nul`, `[]`, `null`, ``, ` `, `{} {}`, "\ufeff{}",
	strings.Repeat(`{"items":[`, 50) + "{}", `{"raw":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}",
}

// FuzzDecode: any bytes are accepted, with the same values, or refused, for the
// same reason and at the same place, as by the tokens of jsontext; and what is
// accepted, encoding/json understands in the same way.
func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var got, want, theirs item
		err, wantErr := decodeItem(src, &got), decodeBy(newReference(src), &want)
		if !sameResult(err, wantErr) {
			t.Fatalf("%q\ngot  %#v\nwant %#v", src, err, wantErr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q\ngot  %#v\nwant %#v", src, got, want)
		}
		if err := json.Unmarshal(src, &theirs); err != nil {
			t.Fatalf("%q is accepted, and encoding/json says %v", src, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(theirs)
		if string(a) != string(b) {
			t.Fatalf("%q\ngot          %s\nencoding/json %s", src, a, b)
		}
	})
}

// FuzzCheck: the same for JSON of any shape. What is accepted is written as it
// was, compacted, and accepted again.
func FuzzCheck(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, s := range []string{`-0.1e+5`, `"\ud83d\ude00"`, `[1, 2 ,3]`, `{"a":{"b":[true,false,null]}}`, `[{"a":1},{"a":1}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		err := taskjson.Check(src)
		r := newReference(src)
		raw := r.Raw()
		if want := r.Finish(); !sameResult(err, want) {
			t.Fatalf("%q\ngot  %#v\nwant %#v", src, err, want)
		}
		if err != nil {
			return
		}
		if !json.Valid(src) {
			t.Fatalf("%q is accepted, and encoding/json says it is not JSON", src)
		}
		d := taskjson.NewDecoder(src)
		if got := d.Raw(); d.Finish() != nil || string(got) != string(raw) {
			t.Fatalf("%q is read as %q, and by jsontext as %q", src, got, raw)
		}
		e := taskjson.NewEncoder(nil)
		e.Raw(raw)
		out, err := e.Finish()
		if err != nil || taskjson.Check(out) != nil {
			t.Fatalf("%q is not written, or not read again: %q, %v", src, out, err)
		}
		if want, _ := json.Marshal(raw); string(out) != string(want) {
			t.Fatalf("%q is written as %q, and by encoding/json as %q", src, out, want)
		}
	})
}

// FuzzString: strings are written as encoding/json writes them and come back, or
// are refused for what they hold; a key is a string.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "a\x00", "<é\u2028>", "\xff", "\\u0000", `"`, "1234567&", "12345678\x7f", "\u07ff\uffff\U0010ffff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := written(t, func(e *taskjson.Encoder) { e.String(s) })
		var refused *taskjson.Error
		if good := utf8.ValidString(s) && !strings.Contains(s, "\x00"); good != (err == nil) || !good && !errors.As(err, &refused) {
			t.Fatalf("%q: %v", s, err)
		}
		if err != nil {
			return
		}
		if want, _ := json.Marshal(s); got != string(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
		d := taskjson.NewDecoder([]byte(got))
		back := d.String()
		if err := d.Finish(); err != nil || back != s {
			t.Fatalf("%q came back as %q: %v", s, back, err)
		}
		object, err := written(t, func(e *taskjson.Encoder) {
			e.BeginObject()
			e.Key(s)
			e.Null()
			e.EndObject()
		})
		d = taskjson.NewDecoder([]byte(object))
		var key string
		if d.BeginObject(); d.More() {
			key = d.Key()
		}
		d.Null()
		d.End()
		if again := d.Finish(); err != nil || again != nil || key != s {
			t.Fatalf("%q as a key came back as %q: %v, %v", s, key, err, again)
		}
	})
}
