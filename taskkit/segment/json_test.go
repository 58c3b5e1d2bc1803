package segment_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"taskkit.dev/taskkit/segment"
)

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	at := segment.Instant(time.Date(1969, 7, 20, 20, 17, 40, 1000, time.UTC))
	for _, c := range []struct {
		segment segment.Segment
		want    string
	}{
		{segment.Segment{}, `null`},
		{segment.Null(), `{"form":"null"}`},
		{segment.Below(segment.Int(-5)).OrNull(), `{"form":"interval","type":"number","to":"-5","null":true}`},
		{segment.AtLeast(segment.BigInt(pow2(64, 0))), `{"form":"interval","type":"number","from":"18446744073709551616"}`},
		{segment.Between(segment.Text(""), segment.Text("ä😀")), `{"form":"interval","type":"text","from":"","to":"ä😀"}`},
		{segment.Prefix("q<>&0"), `{"form":"prefix","type":"text","value":"q\u003c\u003e\u00260"}`},
		{segment.Exactly(segment.Text("")).OrNull(), `{"form":"exact","type":"text","value":"","null":true}`},
		{segment.Exactly(segment.ID([16]byte{15: 9})), `{"form":"exact","type":"uuid","value":"00000000-0000-0000-0000-000000000009"}`},
		{segment.Between(at, segment.Instant(time.Unix(0, 0))), `{"form":"interval","type":"time","from":"1969-07-20T20:17:40.000001Z","to":"1970-01-01T00:00:00.000000Z"}`},
		{plan(t, segment.Numeric{Size: pow2(1, 0), Count: 1}).At(0), `{"form":"interval","null":true}`},
	} {
		raw, err := json.Marshal(c.segment)
		if err != nil || string(raw) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.segment, raw, err, c.want)
			continue
		}
		back := segment.Prefix("overwritten")
		if err := json.Unmarshal(raw, &back); err != nil || back != c.segment {
			t.Errorf("%s comes back as %s, %v", raw, back, err)
		}
		if raw, err = jsonv2.Marshal(c.segment); err != nil {
			t.Error(err)
		}
		back = segment.Prefix("overwritten")
		if err := jsonv2.Unmarshal(raw, &back); err != nil || back != c.segment {
			t.Errorf("with JSON of version 2, %s comes back as %s, %v", raw, back, err)
		}
	}
	if _, err := json.Marshal(segment.Prefix("\xff")); err == nil {
		t.Error("text that is not UTF-8 was encoded")
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`5`:                         `its JSON cannot be read: json: cannot unmarshal number into Go value of type segment.wire`,
		`{}`:                        `its JSON has the unknown form ""`,
		`{"form":"like"}`:           `its JSON has the unknown form "like"`,
		`{"form":"null","extra":1}`: `its JSON cannot be read: json: unknown field "extra"`,
		`{"form":"null","from":"1","type":"number"}`:                  `its JSON has the wrong members for the form "null"`,
		`{"form":"interval","value":"1","type":"number"}`:             `its JSON has the wrong members for the form "interval"`,
		`{"form":"prefix","from":"1","type":"text"}`:                  `its JSON has the wrong members for the form "prefix"`,
		`{"form":"exact","type":"text"}`:                              `its JSON has the wrong members for the form "exact"`,
		`{"form":"prefix","value":"1","type":"number"}`:               `a prefix must be a text of at least one character`,
		`{"form":"interval","type":"number"}`:                         `its JSON has the type "number" without a value of it`,
		`{"form":"interval","from":"1"}`:                              `there is no type ""`,
		`{"form":"interval","from":"1","type":"float"}`:               `there is no type "float"`,
		`{"form":"interval","from":"1.5","type":"number"}`:            `"1.5" is not an integer in decimal digits`,
		`{"form":"interval","from":"007","type":"number"}`:            `"007" is not an integer in decimal digits`,
		`{"form":"interval","from":"2","to":"1","type":"number"}`:     `it is empty: its end 1 must be greater than its begin 2`,
		`{"form":"interval","from":"A","type":"uuid"}`:                `"A" is not a UUID in lower case`,
		`{"form":"interval","from":"2000-01-01","type":"time"}`:       `"2000-01-01" is not a time such as 2006-01-02T15:04:05.000000Z`,
		`{"form":"exact","value":"\u0000","type":"text","null":true}`: `the text "\x00" has a NUL, which PostgreSQL cannot store`,
	} {
		s := segment.Null()
		err := json.Unmarshal([]byte(raw), &s)
		var refused *segment.ParameterError
		if !errors.As(err, &refused) || refused.Problem != want || s != segment.Null() {
			t.Errorf("%s: %v, and the segment is %s\nwant %s", raw, err, s, want)
		}
	}
}
