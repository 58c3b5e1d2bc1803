package taskjson_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskjson"
)

// item is a type with marshalling code like that of taskgen, written by hand.
type item struct {
	ID     uuid.UUID          `json:"id"`
	Name   string             `json:"name"`
	Small  int8               `json:"small"`
	Count  uint16             `json:"count"`
	Ratio  float32            `json:"ratio"`
	On     bool               `json:"on"`
	Bytes  []byte             `json:"bytes"`
	When   time.Time          `json:"when"`
	Raw    json.RawMessage    `json:"raw"`
	Tags   []string           `json:"tags"`
	Scores map[string]float64 `json:"scores"`
	Pair   [2]int             `json:"pair"`
	Big    big.Int            `json:"big"`
	Colors map[color]uint64   `json:"colors"`
	Items  []item             `json:"items"`
}

// color is a key by its own text.
type color [2]byte

func (c color) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%02x%02x", c[0], c[1]), nil }

func (c *color) UnmarshalText(text []byte) error {
	_, err := hex.Decode(c[:], append([]byte{}, text[:min(len(text), 4)]...))
	if err == nil && len(text) != 4 {
		err = hex.ErrLength
	}
	return err
}

func readItem(d reader, v *item) {
	if !d.BeginObject() {
		return
	}
	var seen uint64
	for d.More() {
		switch name := d.Name(); string(name) {
		case "id":
			d.Once(&seen, 0)
			v.ID = d.UUID()
		case "name":
			d.Once(&seen, 1)
			v.Name = d.String()
		case "small":
			v.Small = d.Int8()
		case "count":
			v.Count = d.Uint16()
		case "ratio":
			v.Ratio = d.Float32()
		case "on":
			v.On = d.Bool()
		case "bytes":
			if !d.Null() {
				v.Bytes = d.Bytes()
			}
		case "when":
			v.When = d.Time()
		case "raw":
			v.Raw = d.Raw()
		case "tags":
			if d.Null() || !d.BeginArray() {
				continue
			}
			list := make([]string, 0, d.Capacity(3))
			for d.More() {
				list = append(list, d.String())
			}
			d.End()
			v.Tags = list
		case "scores":
			if d.Null() || !d.BeginObject() {
				continue
			}
			v.Scores = make(map[string]float64, d.Members())
			last := ""
			for d.More() {
				key := d.Key()
				if key > last {
					last = key
				} else if _, ok := v.Scores[key]; ok {
					d.Repeated()
				}
				v.Scores[key] = d.Float64()
			}
			d.EndMap(len(v.Scores))
		case "pair":
			if !d.BeginArray() {
				continue
			}
			for i := range v.Pair {
				if !d.More() {
					d.Short(i, len(v.Pair))
					break
				}
				v.Pair[i] = d.Int()
			}
			d.End()
		case "big":
			d.Once(&seen, 12)
			d.JSON(&v.Big)
		case "colors":
			if d.Null() || !d.BeginObject() {
				continue
			}
			v.Colors = make(map[color]uint64, d.Members())
			for d.More() {
				var key color
				d.TextKey(&key)
				if _, ok := v.Colors[key]; ok {
					d.Repeated()
				}
				v.Colors[key] = d.Uint64()
			}
			d.EndMap(len(v.Colors))
		case "items":
			if d.Null() || !d.BeginArray() {
				continue
			}
			v.Items = []item{}
			for d.More() {
				v.Items = append(v.Items, item{})
				readItem(d, &v.Items[len(v.Items)-1])
			}
			d.End()
		default:
			d.Unknown(name, "id", "name", "small", "count", "ratio", "on", "bytes", "when", "raw", "tags", "scores", "pair",
				"big", "colors", "items")
		}
	}
	d.End()
}

func decodeItem(src []byte, v *item) error {
	return decodeBy(taskjson.NewDecoder(src), v)
}

func decodeBy(d reader, v *item) error {
	*v = item{}
	readItem(d, v)
	return d.Finish()
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, c := range []struct {
		src     string
		problem taskjson.Problem
		pointer string
	}{
		{``, taskjson.Syntax, ""},
		{`  `, taskjson.Syntax, ""},
		{`nul`, taskjson.Syntax, ""},
		{`{`, taskjson.Syntax, ""},
		{`{"name":}`, taskjson.Syntax, "/name"},
		{`{"name":"x",}`, taskjson.Syntax, ""},
		{`{"name":"x" "on":true}`, taskjson.Syntax, ""},
		{`{"small":01}`, taskjson.Syntax, ""},
		{`{"small":+1}`, taskjson.Syntax, "/small"},
		{`{"name":'x'}`, taskjson.Syntax, "/name"},
		{`{"name":"a` + "\n" + `b"}`, taskjson.Syntax, "/name"},
		{`{"name":"\x"}`, taskjson.Syntax, "/name"},
		{"\ufeff{}", taskjson.Syntax, ""},
		{`// no
{}`, taskjson.Syntax, ""},
		{`{"ratio":NaN}`, taskjson.Syntax, "/ratio"},
		{`null`, taskjson.WrongType, ""},
		{`[]`, taskjson.WrongType, ""},
		{`"x"`, taskjson.WrongType, ""},
		{`{}{}`, taskjson.TrailingData, ""},
		{`{} x`, taskjson.TrailingData, ""},
		{`{}]`, taskjson.TrailingData, ""},
		{`{"nome":1}`, taskjson.UnknownName, "/nome"},
		{`{"a/b~c":1}`, taskjson.UnknownName, "/a~1b~0c"},
		{`{"Name":"x"}`, taskjson.CollidingName, "/Name"},
		{`{"name":"x","NAME":"x"}`, taskjson.CollidingName, "/NAME"},
		{`{"name":"x","name":"y"}`, taskjson.DuplicateName, "/name"},
		{`{"name":"x","\u006eame":"y"}`, taskjson.DuplicateName, "/name"},
		{`{"scores":{"a":1,"\u0061":2}}`, taskjson.DuplicateName, "/scores/a"},
		{`{"raw":{"a":{"b":1,"b":2}}}`, taskjson.DuplicateName, "/raw/a/b"},
		{`{"name":null}`, taskjson.WrongType, "/name"},
		{`{"id":null}`, taskjson.WrongType, "/id"},
		{`{"when":null}`, taskjson.WrongType, "/when"},
		{`{"on":null}`, taskjson.WrongType, "/on"},
		{`{"on":0}`, taskjson.WrongType, "/on"},
		{`{"small":null}`, taskjson.WrongType, "/small"},
		{`{"small":"1"}`, taskjson.WrongType, "/small"},
		{`{"name":1}`, taskjson.WrongType, "/name"},
		{`{"name":["x"]}`, taskjson.WrongType, "/name"},
		{`{"tags":{}}`, taskjson.WrongType, "/tags"},
		{`{"tags":["a",null]}`, taskjson.WrongType, "/tags/1"},
		{`{"scores":[]}`, taskjson.WrongType, "/scores"},
		{`{"pair":[1]}`, taskjson.WrongType, "/pair"},
		{`{"pair":[1,2,3]}`, taskjson.WrongType, "/pair/2"},
		{`{"pair":null}`, taskjson.WrongType, "/pair"},
		{`{"small":1.0}`, taskjson.WrongType, "/small"},
		{`{"small":1e1}`, taskjson.WrongType, "/small"},
		{`{"small":128}`, taskjson.OutOfRange, "/small"},
		{`{"small":99999999999999999999}`, taskjson.OutOfRange, "/small"},
		{`{"count":-1}`, taskjson.OutOfRange, "/count"},
		{`{"count":65536}`, taskjson.OutOfRange, "/count"},
		{`{"ratio":1e39}`, taskjson.OutOfRange, "/ratio"},
		{`{"scores":{"a":1e309}}`, taskjson.OutOfRange, "/scores/a"},
		{"{\"name\":\"\xff\"}", taskjson.BadUTF8, "/name"},
		{"{\"name\":\"\xed\xa0\x80\"}", taskjson.BadUTF8, "/name"},
		{"{\"raw\":[\"\xff\"]}", taskjson.BadUTF8, "/raw/0"},
		{`{"name":"\ud800"}`, taskjson.LoneSurrogate, "/name"},
		{`{"name":"\uDC00x"}`, taskjson.LoneSurrogate, "/name"},
		{`{"name":"\ud800\ud800"}`, taskjson.LoneSurrogate, "/name"},
		{`{"raw":"\udead"}`, taskjson.LoneSurrogate, "/raw"},
		{`{"name":"a\u0000b"}`, taskjson.NUL, "/name"},
		{`{"tags":["ok","\u0000"]}`, taskjson.NUL, "/tags/1"},
		{`{"scores":{"\u0000":1}}`, taskjson.NUL, "/scores/\x00"},
		{`{"raw":{"a":["\u0000"]}}`, taskjson.NUL, "/raw/a/0"},
		{`{"raw":` + deep + `}`, taskjson.TooDeep, "/raw" + strings.Repeat("/0", 99)},
		{`{"raw":` + strings.Repeat("[", 20000), taskjson.TooDeep, "/raw"},
		{`{"big":1.5}`, taskjson.InvalidValue, "/big"},
		{`{"big":[1,]}`, taskjson.Syntax, "/big"},
		{`{"colors":{"0a0B":1,"0A0b":2}}`, taskjson.DuplicateName, "/colors/0A0b"},
		{`{"colors":{"0a" 1}}`, taskjson.InvalidValue, "/colors/0a"},
		{`{"colors":{"0a0b" 1}}`, taskjson.Syntax, "/colors/0a0b"},
		{`{"colors":{"0a0b":-1}}`, taskjson.OutOfRange, "/colors/0a0b"},
		{`{"items":[{},{"items":[{"on":1}]}]}`, taskjson.WrongType, "/items/1/items/0/on"},
		{strings.Repeat(`{"items":[`, 50) + `{}`, taskjson.TooDeep, strings.Repeat("/items/0", 50)},
		{`{"nome" 1}`, taskjson.UnknownName, "/nome"},
		{`{"name" "x"}`, taskjson.Syntax, "/name"},
		{`{"name"`, taskjson.Syntax, "/name"},
		{`{"name":"x"]`, taskjson.Syntax, ""},
		{`{"tags":["x"}`, taskjson.Syntax, "/tags"},
		{`{"pair":[1,2}`, taskjson.Syntax, "/pair"},
		{`{1:2}`, taskjson.Syntax, ""},
		{`{,}`, taskjson.Syntax, ""},
		{`{"name"::"x"}`, taskjson.Syntax, "/name"},
		{`{"tags":[,]}`, taskjson.Syntax, "/tags"},
		{`{"bytes":nul}`, taskjson.Syntax, "/bytes"},
		{`{"bytes":nullx}`, taskjson.Syntax, ""},
		{`{"small":-}`, taskjson.Syntax, "/small"},
		{`{"small":1.}`, taskjson.Syntax, "/small"},
		{`{"ratio":1e}`, taskjson.Syntax, "/ratio"},
		{`{"name":"` + strings.Repeat("x", taskjson.MaxSize) + `"}`, taskjson.TooLarge, ""},
		{`{"id":"nope"}`, taskjson.InvalidValue, "/id"},
		{`{"id":""}`, taskjson.InvalidValue, "/id"},
		{`{"when":"yesterday"}`, taskjson.InvalidValue, "/when"},
		{`{"bytes":"*"}`, taskjson.InvalidValue, "/bytes"},
	} {
		t.Run(short(c.src), func(t *testing.T) {
			t.Parallel()
			var v item
			err := decodeItem([]byte(c.src), &v)
			var e *taskjson.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v is not an *Error", err)
			}
			pointer := e.Pointer
			if e.Problem == taskjson.TooDeep && len(pointer) > len(c.pointer) && strings.HasPrefix(pointer, c.pointer) {
				pointer = c.pointer // how much deeper is the parser's affair
			}
			if want := decodeBy(newReference([]byte(c.src)), new(item)); !sameResult(err, want) {
				t.Errorf("got %v, and by the tokens of jsontext %v", err, want)
			}
			if e.Problem != c.problem || pointer != c.pointer {
				t.Errorf("%s: got %s at %q, want %s at %q", err, e.Problem, e.Pointer, c.problem, c.pointer)
			}
			if s := err.Error(); strings.Contains(s, "nope") || strings.Contains(s, "yesterday") {
				t.Errorf("the error quotes a value: %s", s)
			}
		})
	}
}

// short returns the beginning of a source, as a name.
func short(s string) string { return s[:min(len(s), 40)] }

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{}`,
		` { "name" : "x" } ` + "\n",
		`{"name":"\u00e9\ud83d\ude00\n\/"}`,
		`{"name":"\\u0000"}`,
		`{"small":-128,"count":65535,"ratio":3.4e38,"on":false}`,
		`{"small":-0,"scores":{"a":1,"A":2,"":-0.0}}`,
		`{"bytes":null,"tags":null,"scores":null,"raw":null}`,
		`{"bytes":"","tags":[],"scores":{}}`,
		`{"id":"urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057","bytes":"AP8="}`,
		`{"when":"2026-01-02T03:04:05.000000001+02:00","pair":[1,2]}`,
		`{"raw": {"a" : [1, "]}", "\\"]}, "tags":["]", "b"]}`,
		`{"raw":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`,
	} {
		t.Run(short(src), func(t *testing.T) {
			t.Parallel()
			var got, want item
			if err := decodeItem([]byte(src), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(src), &want); err != nil {
				t.Fatal(err)
			}
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			if string(a) != string(b) {
				t.Errorf("got  %s\nwant %s", a, b)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]taskjson.Problem{
		`{"a":[1,2,{"b":null}]}`: "",
		`["\\u0000"]`:            "",
		``:                       taskjson.Syntax,
		`{"a":1}{}`:              taskjson.TrailingData,
		`{"a":1,"a":2}`:          taskjson.DuplicateName,
		`["\u0000"]`:             taskjson.NUL,
		`["\ud800"]`:             taskjson.LoneSurrogate,
		"[\"\xff\"]":             taskjson.BadUTF8,
		strings.Repeat(" ", taskjson.MaxSize-1) + "1":       "",
		strings.Repeat(" ", taskjson.MaxSize) + "1":         taskjson.TooLarge,
		strings.Repeat("[", 101) + strings.Repeat("]", 101): taskjson.TooDeep,
		strings.Repeat("[", 100) + strings.Repeat("]", 100): "",
	} {
		err := taskjson.Check([]byte(src))
		var e *taskjson.Error
		errors.As(err, &e)
		if (err == nil) != (want == "") || err != nil && (e == nil || e.Problem != want) {
			t.Errorf("%s: got %v, want %q", short(src), err, want)
		}
	}
}
