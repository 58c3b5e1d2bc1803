package itemkey_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/itemkey"
)

type (
	pair   struct{ A, B int }
	hidden struct {
		A int
		b int
	}
	number int
)

func (number) String() string { return "a number" }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

// The key of a value, and what people see of it.
func TestEncode(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	for name, tc := range map[string]struct {
		item      any
		key, text string
	}{
		"string":          {"a <b> & \"c\"", `"a <b> & \"c\""`, `a <b> & "c"`},
		"digits":          {"7", `"7"`, `7`},
		"empty string":    {"", `""`, ``},
		"integer":         {7, `7`, `7`},
		"large integer":   {uint64(math.MaxUint64), `18446744073709551615`, `18446744073709551615`},
		"named integer":   {number(7), `7`, `7`},
		"float":           {1.5, `1.5`, `1.5`},
		"bool":            {true, `true`, `true`},
		"nothing":         {nil, `null`, `null`},
		"UUID":            {id, `"` + id.String() + `"`, id.String()},
		"time":            {time.Unix(0, 0).UTC(), `"1970-01-01T00:00:00Z"`, "1970-01-01T00:00:00Z"},
		"JSON":            {json.RawMessage(` {"a":  1} `), `{"a":1}`, `{"a":1}`},
		"struct":          {pair{1, 2}, `{"A":1,"B":2}`, `{"A":1,"B":2}`},
		"pointer":         {&pair{1, 2}, `{"A":1,"B":2}`, `{"A":1,"B":2}`},
		"list":            {[]string{"a"}, `["a"]`, `["a"]`},
		"unexported":      {hidden{1, 2}, `"{1 2}"`, `{1 2}`},
		"error":           {errors.New("a"), `"a"`, `a`},
		"not a number":    {math.NaN(), `"NaN"`, `NaN`},
		"any in a map":    {map[string]any{"a": 1}, `"map[a:1]"`, `map[a:1]`},
		"not encodable":   {complex(1, 2), `"(1+2i)"`, `(1+2i)`},
		"panics":          {panics{}, `"{}"`, `{}`},
		"NUL":             {"a\x00b", `"a\u0000b"`, "a\x00b"},
		"almost too long": {strings.Repeat("x", itemkey.Max-2), `"` + strings.Repeat("x", itemkey.Max-2) + `"`, strings.Repeat("x", itemkey.Max-2)},
	} {
		key := itemkey.Encode(tc.item)
		if key != tc.key || itemkey.Text(key) != tc.text {
			t.Errorf("%s: key %s, text %q; want %s, %q", name, key, itemkey.Text(key), tc.key, tc.text)
		}
	}
}

// What cannot be stored as it is becomes a key that can, and another for each item.
func TestEncodeBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	seen := make(map[string]int)
	for i, item := range []any{
		"a\xff", "a\xfe", "a\uFFFD", long + "a", long + "b", strings.Repeat("\x01", 5000), strings.Repeat("🙂", 5000),
		strings.Repeat("x", itemkey.Max-1),
		[]string{long, "a"},
		[]string{long, "b"},
		pair{},
		hidden{},
		hidden{b: 1},
	} {
		key := itemkey.Encode(item)
		if len(key) > itemkey.Max || !utf8.ValidString(key) || !json.Valid([]byte(key)) || strings.ContainsRune(key, 0) {
			t.Errorf("item %d: key of %d bytes %.100s", i, len(key), key)
		}
		if other, ok := seen[key]; ok {
			t.Errorf("items %d and %d have the same key %.100s", other, i, key)
		}
		seen[key] = i
		if again := itemkey.Encode(item); again != key {
			t.Errorf("item %d: key %.100s, then %.100s", i, key, again)
		}
	}
}

func TestTextOfNoJSON(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "a", `"a`} {
		if got := itemkey.Text(key); got != key {
			t.Errorf("text of %q is %q", key, got)
		}
	}
}

// Of a text all JSON that is stored of it has the same key, with other escapes too.
func TestOfJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "<&>", `\u003c`, "\u2028", "a\u2029\\<", "\b\f\n\x01\x7f", "é🙂", `"`} {
		html, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		bare := strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(html))
		want := itemkey.Encode(text)
		for _, raw := range []string{string(html), bare, want, " " + want + "\n"} {
			if got := itemkey.OfJSON([]byte(raw)); got != want {
				t.Errorf("key of %s is %s, want %s", raw, got, want)
			}
		}
	}
}
