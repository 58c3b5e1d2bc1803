package taskjson_test

import (
	"encoding/json"
	"testing"
	"time"

	"taskkit.dev/taskkit/taskjson"
)

// FuzzTime: a time is read, and written, as package time does.
func FuzzTime(f *testing.F) {
	for _, s := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.1234567891Z",
		"2026-01-02T03:04:05.100Z", "2026-01-02T03:04:05.000000001Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05.Z",
		"2026-01-02T03:04:05+01:00", "2026-01-02t03:04:05z", "2026-01-02 03:04:05Z", "2026-02-28T23:59:59Z", "2026-02-29T00:00:00Z",
		"2024-02-29T00:00:00Z", "2026-12-31T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-00T00:00:00Z",
		"2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "0000-01-01T00:00:00Z",
		"9999-12-28T23:59:59.999999999Z", "10000-01-01T00:00:00Z", "202/-01-01T00:00:00Z", "2026-0:-01T00:00:00Z", "2026-01-01T0a:00:00Z",
		"2026-01-02T03:04:05.12/Z", "2026-01-02T03:04:05.12:Z", "2026-01-02T03:04:05.1", "2026-01-02T3:04:05.12Z", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want time.Time
		refused := want.UnmarshalJSON(quoted)
		d := taskjson.NewDecoder(quoted)
		got := d.Time()
		if err := d.Finish(); (err == nil) != (refused == nil) {
			t.Fatalf("%s: %v, and package time says %v", quoted, err, refused)
		}
		if refused != nil {
			return
		}
		if !got.Equal(want) || got.String() != want.String() {
			t.Fatalf("%s: got %#v, want %#v", quoted, got, want)
		}
		out, err := written(t, func(e *taskjson.Encoder) { e.Time(got) })
		text, refused := json.Marshal(want)
		if (err == nil) != (refused == nil) || refused == nil && out != string(text) {
			t.Fatalf("got %s, %v, want %s, %v", out, err, text, refused)
		}
	})
}
