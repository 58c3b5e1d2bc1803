package taskkit

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ secrets, in, want string }{
		"none":                     {``, `{"a": 1}`, `{"a": 1}`},
		"a member":                 {`/a`, `{"b":1,"a":"x","c":[ 2 ]}`, `{"b":1,"a":"***","c":[ 2 ]}`},
		"any value":                {`/a /b /c /d`, `{"a":{"x":1},"b":[1],"c":null,"d":12.50}`, `{"a":"***","b":"***","c":"***","d":"***"}`},
		"what is not there":        {`/a/b /z`, `{"a":{"c":1}}`, `{"a":{"c":1}}`},
		"another shape":            {`/a/b/c /d/*/e`, `{"a":[{"b":1}],"d":7}`, `{"a":[{"b":1}],"d":7}`},
		"elements":                 {`/rows/*/ssn`, `{"rows":[{"ssn":"1","n":1},{"n":2},{"ssn":["3"]}]}`, `{"rows":[{"ssn":"***","n":1},{"n":2},{"ssn":"***"}]}`},
		"members":                  {`/by/*/ssn`, `{"by":{"x":{"ssn":1},"y":{"ssn":2}}}`, `{"by":{"x":{"ssn":"***"},"y":{"ssn":"***"}}}`},
		"every element":            {`/keys/*`, `{"keys":["a","b"],"n":1}`, `{"keys":["***","***"],"n":1}`},
		"one element":              {`/keys/1`, `{"keys":["a","b","c"]}`, `{"keys":["a","***","c"]}`},
		"a secret in a secret":     {`/a /a/b`, `{"a":{"b":1,"c":2}}`, `{"a":"***"}`},
		"names with / and ~":       {`/a~1b/~0`, `{"a/b":{"~":1},"a":{"b":2}}`, `{"a/b":{"~":"***"},"a":{"b":2}}`},
		"a name written otherwise": {`/token`, `{"\u0074oken":"x"}`, `{"\u0074oken":"***"}`},
		"a name twice":             {`/a`, `{"a":1,"a":2}`, `{"a":"***","a":"***"}`},
		"an empty name":            {`/`, `{"":"x","a":1}`, `{"":"***","a":1}`},
		"empty":                    {`/a/*`, `{"a":[],"b":{}}`, `{"a":[],"b":{}}`},
		"no object":                {`/a`, `"text"`, `"text"`},
		"no JSON":                  {`/a`, `{"a":"x`, `"***"`},
		"bad UTF-8":                {`/a`, "{\"b\":\"\xff\",\"a\":1}", `"***"`},
		"nothing":                  {`/a`, ``, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseSecrets(strings.Fields(c.secrets)).mask(json.RawMessage(c.in))
			if string(got) != c.want {
				t.Errorf("%s of %s:\n got %s\nwant %s", c.secrets, c.in, got, c.want)
			}
		})
	}
}

// The whole of a part may be secret.
func TestMaskWhole(t *testing.T) {
	t.Parallel()
	s := parseSecrets([]string{"/state"})
	if got := string(s.below("state").mask([]byte(`{"a":1}`))); got != `"***"` {
		t.Errorf("state: %s", got)
	}
	if got := string(s.below("spec").mask([]byte(`{"a":1}`))); got != `{"a":1}` {
		t.Errorf("spec: %s", got)
	}
}

// However deep the JSON is, masking ends and shows nothing.
func TestMaskDeep(t *testing.T) {
	t.Parallel()
	deep := `{"a":` + strings.Repeat(`[`, 20_000) + `"x"` + strings.Repeat(`]`, 20_000) + `,"s":"secret"}`
	if got := string(parseSecrets([]string{"/s"}).mask([]byte(deep))); strings.Contains(got, "secret") {
		t.Errorf("masked as %.60s", got)
	}
}

// FuzzMask: whatever the JSON is, the secret is not in what comes out, and what
// comes out is JSON again if it was.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":"hunter2"}}`, `{"a":["hunter2"],"c":"x"}`, `{"a":"hunter2"}`, `[]`, `{"a":`} {
		f.Add([]byte(seed))
	}
	s := parseSecrets([]string{"/a"})
	f.Fuzz(func(t *testing.T, in []byte) {
		out := s.mask(in)
		if !json.Valid(in) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", in, out)
		}
		var was, is map[string]any
		if json.Unmarshal(in, &was) != nil || json.Unmarshal(out, &is) != nil {
			return
		}
		if _, ok := was["a"]; ok != (is["a"] != nil) || ok && is["a"] != masked || len(was) != len(is) {
			t.Fatalf("%q became %q", in, out)
		}
	})
}

func TestCut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secrets, pointer, want string
		whole                  bool
	}{
		"a field":           {"/token", "/token", "/token", true},
		"another":           {"/token", "/people", "/people", false},
		"in rows":           {"/rows/*/ssn", "/rows/3/ssn", "/rows/3/ssn", true},
		"beside it":         {"/rows/*/ssn", "/rows/3/name", "/rows/3/name", false},
		"around it":         {"/rows/*/ssn", "/rows", "/rows", false},
		"below it":          {"/login", "/login/hunter2/x", "/login/***", true},
		"elements":          {"/keys/*", "/keys/1", "/keys/1", true},
		"members":           {"/by/*/*", "/by/x/y", "/by/x/y", true},
		"a name with a dot": {"/pair.ptr", "/pair.ptr", "/pair.ptr", true},
		"a name with marks": {"/a~1b", "/a~1b/hunter2", "/a~1b/***", true},
		"the whole":         {"", "/people/1/id", "/***", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			names := parseSecrets([]string{c.pointer})[0]
			got, within := parseSecrets([]string{"/spec" + c.secrets}).below("spec").cut(names)
			if pointerOf(got) != c.want || within.whole() != c.whole {
				t.Errorf("%s of %s: got %s, secret: %v; want %s, %v", c.secrets, c.pointer, pointerOf(got), within.whole(), c.want, c.whole)
			}
		})
	}
}
