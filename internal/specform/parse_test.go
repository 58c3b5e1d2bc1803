package specform_test

import (
	"reflect"
	"strings"
	"testing"

	"taskkit.dev/internal/specform"
)

// hostile has what schemas of kinds have at their worst: names with every character, types inside themselves, markup in comments.
const hostile = `{
  "title": "hostile spec", "description": "<script>alert(1)</script>", "type": "object", "additionalProperties": false,
  "properties": {
    "a.b": {"type": "string", "description": "</textarea><img src=x onerror=alert(1)>"},
    "a": {"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false},
    "": {"type": "integer", "minimum": -9223372036854775808, "maximum": 18446744073709551615},
    "~/\u202e": {"type": "string"},
    "tree": {"$ref": "#/$defs/Tree"},
    "loop": {"$ref": "#/$defs/Loop"},
    "ratio": {"type": "number", "exclusiveMaximum": 1},
    "yes": {"type": "boolean"},
    "color": {"anyOf": [{"type": "string", "enum": ["red", "dark blue", ""]}, {"type": "null"}]},
    "level": {"type": "integer", "enum": [1, 2, 0]},
    "tags": {"type": ["array", "null"], "items": {"type": "string", "maxLength": 5}, "maxItems": 4, "uniqueItems": true},
    "numbers": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0, "maximum": 18446744073709551615}},
    "token": {"type": "string", "minLength": 8, "writeOnly": true, "x-taskkit-secret": true},
    "tokens": {"type": ["array", "null"], "items": {"type": "string", "minLength": 8}, "writeOnly": true, "x-taskkit-secret": true},
    "limits": {"type": ["object", "null"], "additionalProperties": {"type": "integer"}, "maxProperties": 2},
    "note": {"type": ["string", "null"]},
    "must": {"type": "string"},
    "any": {},
    "day": {"type": "string", "format": "date", "default": "2026-07-01"},
    "at": {"type": "string", "anyOf": [{"format": "date-time", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T"}, {"pattern": "^never$"}]},
    "address": {"type": "string", "anyOf": [{"format": "ipv4"}, {"format": "ipv6"}]},
    "rows": {"type": ["array", "null"], "items": {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}, "required": ["id"], "additionalProperties": false}}
  },
  "$defs": {
    "Tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]}}, "additionalProperties": false},
    "Loop": {"type": ["array", "null"], "items": {"$ref": "#/$defs/Loop"}}
  }
}`

func TestParse(t *testing.T) {
	t.Parallel()
	f := newForm(t, hostile)
	long := strings.Repeat("9", 300)
	for _, c := range []struct {
		name   string
		values specform.Values
		want   string // a spec, or problems
	}{
		{"nothing", nil, `{}`},
		{"empty texts are nothing", specform.Values{"a.b": {""}, "yes": {""}, "tags": {"", " "}, "tree.name": {""}, "any": {" "}, "token": {""}}, `{}`},
		{"names that are equal", specform.Values{"a.b": {"1"}, "/a/b": {"2"}, "": {"3"}, "spec": {"4"}, "~/\u202e": {"5"}}, `{"a.b":"1","a":{"b":"2"},"":4,"~/` + "\u202e" + `":"5"}`},
		{"every character of a text", specform.Values{"a.b": {"<b>&amp;\u202e\u2066 \t'\"\\\r\nx\u0007\U0001F600 "}}, `{"a.b":"<b>&amp;` + "\u202e\u2066" + ` \u0009'\"\\\nx\u0007😀 "}`},
		{"NUL", specform.Values{"a.b": {"a\x00b"}}, "a.b has a NUL character"},
		{"not UTF-8", specform.Values{"a.b": {"\xff"}}, "a.b has bytes that are not UTF-8"},
		{"large integers are exact", specform.Values{"spec": {"18446744073709551615"}, "numbers": {"9007199254740993, 18446744073709551615"}}, `{"":18446744073709551615,"numbers":[9007199254740993,18446744073709551615]}`},
		{"integers too large", specform.Values{"spec": {"18446744073709551616"}}, "spec must be at most 18446744073709551615"},
		{"integers far too large", specform.Values{"spec": {"-" + long}}, "spec must be at least -9223372036854775808"},
		{"integers in other forms", specform.Values{"spec": {"1e3"}}, "spec must be a whole number in digits, such as 1500"},
		{"with separators", specform.Values{"spec": {"1,500"}}, "spec must be a whole number in digits, such as 1500"},
		{"minus zero", specform.Values{"spec": {" -0 "}}, `{"":0}`},
		{"numbers", specform.Values{"ratio": {"-1.5e-3"}}, `{"ratio":-1.5e-3}`},
		{"numbers with a comma", specform.Values{"ratio": {"0,5"}}, "ratio must be a number, such as 1500 or 0.5"},
		{"numbers too large", specform.Values{"ratio": {"1e999"}}, "ratio is too large for a number"},
		{"exponents beyond reason", specform.Values{"ratio": {"1e999999999"}}, "ratio must be a number, such as 1500 or 0.5"},
		{"exponents beyond reason in JSON", specform.Values{specform.Root: {`{"ratio":1e999999999}`}}, "the spec must be JSON: the number 1e999999999 has too many digits"},
		{"bounds that are not included", specform.Values{"ratio": {"1"}}, "ratio must be less than 1"},
		{"booleans", specform.Values{"yes": {"", "Yes"}}, `{"yes":true}`},
		{"no booleans", specform.Values{"yes": {"maybe"}}, "yes must be true or false"},
		{"enums", specform.Values{"color": {"Dark Blue"}, "level": {"2"}}, `{"color":"dark blue","level":2}`},
		{"no value of an enum", specform.Values{"color": {"green"}, "level": {"3"}}, "color must be one of red, dark blue; level must be one of 1, 2, 0"},
		{"lists of texts by lines", specform.Values{"tags": {"a,b\r\n\n c d \n", "e"}}, `{"tags":["a,b","c d","e"]}`},
		{"lists as JSON", specform.Values{"tags": {`["", " a"]`}}, `{"tags":[""," a"]}`},
		{"empty lists are not absent", specform.Values{"tags": {"[]"}, "tree": {"{}"}, "limits": {"{}"}, "numbers": {"null"}}, `{"tree":{},"tags":[],"numbers":null,"limits":{}}`},
		{"lists of numbers", specform.Values{"numbers": {"1 2;3\t4,,5\n6"}}, `{"numbers":[1,2,3,4,5,6]}`},
		{"all mistakes at once", specform.Values{"tags": {"a\nabcdef\na\n"}, "numbers": {"1 x -1"}, "yes": {"?"}}, `yes must be true or false; tags element 2 ("abcdef"): must have at most 5 characters; it has 6; tags element 3 ("a"): repeats element 1; numbers element 2 ("x"): must be a whole number in digits, such as 1500; numbers element 3 (-1): must be at least 0`},
		{"too many elements", specform.Values{"tags": {"1\n2\n3\n4\n5"}}, "tags must have at most 4 elements; it has 5"},
		{"a list that is broken JSON", specform.Values{"tags": {`["a"`}}, "tags must be JSON: it ends too early"},
		{"secrets are not shown", specform.Values{"token": {"hunter2"}, "tokens": {"hunter2\nhunter2345"}}, "token must have at least 8 characters; it has 7; tokens element 1: must have at least 8 characters; it has 7"},
		{"maps by lines", specform.Values{"limits": {"a = 1\nb=2"}}, `{"limits":{"a":1,"b":2}}`},
		{"maps that are wrong", specform.Values{"limits": {"a=x\nb\nc=1\nc=2"}}, `limits the line "a=x": must be a whole number in digits, such as 1500; limits the line "b" must have the form name=value; limits the name of the line "c=2" is there twice`},
		{"too many entries", specform.Values{"limits": {"a=1\nb=2\nc=3"}}, "limits must have at most 2 entries; it has 3"},
		{"types inside themselves", specform.Values{"tree.name": {"top"}, "tree.left": {`{"left":{"name":"x"}}`}, "loop": {"[[],[[]]]"}}, `{"tree":{"name":"top","left":{"left":{"name":"x"}}},"loop":[[],[[]]]}`},
		{"mistakes inside them", specform.Values{"tree.left": {`{"left":{"nam":"x"}}`}}, `tree.left left.nam ("x"): is no field of this kind`},
		{"JSON below a text", specform.Values{specform.Root: {`{"a":{"b":"x"},"tree":{"name":"a","left":null},"note":""}`}, "tree.name": {"b"}}, `{"a":{"b":"x"},"tree":{"name":"b","left":null},"note":""}`},
		{"JSON of a group", specform.Values{"tree": {`{"name":"a"}`}}, `{"tree":{"name":"a"}}`},
		{"no group", specform.Values{"tree": {`["a"]`}}, "tree must be a JSON object, such as {}"},
		{"any value", specform.Values{"any": {`[1.0, {"b":1,"a":2}]`}}, `{"any":[1.0,{"b":1,"a":2}]}`},
		{"names twice in JSON", specform.Values{"any": {`{"a":1,"a":2}`}}, `any must be JSON: the name "a" is in an object twice`},
		{"too deep", specform.Values{"any": {strings.Repeat("[", 500)}}, "any must be JSON: nested more than 100 levels deep"},
		{"more than one value", specform.Values{"any": {"1 2"}}, "any must be JSON: more text after the end of the value"},
		{"days", specform.Values{"day": {" 2028-02-29 "}}, `{"day":"2028-02-29"}`},
		{"days that are not", specform.Values{"day": {"2027-02-29"}}, "day must be a date, such as 2026-07-01"},
		{"times without a zone are in UTC", specform.Values{"at": {"2026-07-01 09:00"}}, `{"at":"2026-07-01T09:00:00Z"}`},
		{"times that are not", specform.Values{"at": {"2026-02-30T09:00:00Z"}}, "at must be a date and a time with its zone, such as 2026-07-01T09:00:00Z"},
		{"addresses", specform.Values{"address": {"2001:db8::1"}}, `{"address":"2001:db8::1"}`},
		{"no addresses", specform.Values{"address": {"300.1.1.1"}}, "address must be an IP address, such as 192.0.2.1 or 2001:db8::1"},
		{"unknown names are ignored", specform.Values{"_key": {"x"}}, `{}`},
	} {
		spec, problems := f.Parse(c.values)
		got := string(spec)
		if len(problems) > 0 {
			var all []string
			for _, p := range problems {
				all = append(all, p.String())
			}
			got = strings.Join(all, "; ")
		}
		if got != c.want {
			t.Errorf("%s: %q: got\n%s\nwant\n%s", c.name, c.values, got, c.want)
		}
	}
	if got := f.Unknown(specform.Values{"_key": nil, "yes": nil, specform.Root: nil, "A": nil}); !reflect.DeepEqual(got, []string{"A", "_key"}) {
		t.Errorf("unknown are %q", got)
	}
}

// Values of a spec are what Parse makes the same spec of, and have no secrets.
func TestValues(t *testing.T) {
	t.Parallel()
	f := newForm(t, hostile)
	for _, spec := range []string{
		`{}`,
		`{"a.b":"1","a":{"b":"2"},"":-4,"~/` + "\u202e" + `":"` + "\u202e" + `<b>"}`,
		`{"note":"","must":"x","a.b":"line\n\n line\ttab "}`,
		`{"note":"a\r\nb"}`,
		`{"tags":[]}`, `{"tags":["a","b,c"]}`, `{"tags":[""]}`, `{"tags":[" a"]}`, `{"tags":["a\nb"]}`, `{"tags":["[1]"]}`, `{"tags":["null"]}`,
		`{"tree":{},"loop":[[]],"any":"text"}`, `{"any":{"x":[null,1.50,18446744073709551616]}}`,
		`{"limits":{}}`, `{"limits":{"a":1,"b":2}}`, `{"limits":{"a=b":1}}`, `{"limits":{" ":1}}`, `{"limits":{"{":1}}`,
		`{"numbers":[18446744073709551615,0]}`, `{"color":"","level":0,"yes":false}`, `{"ratio":0.1000000000000000055511151231257827}`,
		`{"rows":[{"id":1,"name":"a"},{"id":2}]}`,
	} {
		values, omitted, lost, err := f.Values([]byte(spec))
		if err != nil || len(omitted) > 0 || len(lost) > 0 {
			t.Errorf("%s: omitted %q, lost %q, %v", spec, omitted, lost, err)
		}
		if again, problems := f.Parse(values); len(problems) > 0 || !same(t, again, []byte(spec)) {
			t.Errorf("%s becomes %q and reads back as %s, %v", spec, values, again, problems)
		}
	}
	values, omitted, lost, err := f.Values([]byte(`{"token":"hunter23","tokens":["hunter24"],"yes":true,"gone":1,"tree":{"gone":2}}`))
	if want := (specform.Values{"yes": {"true"}, "tree": {"{}"}}); !reflect.DeepEqual(values, want) || err != nil {
		t.Errorf("the values are %q, want %q; %v", values, want, err)
	}
	if !reflect.DeepEqual(omitted, []string{"token", "tokens"}) || !reflect.DeepEqual(lost, []string{"/tree/gone", "/gone"}) {
		t.Errorf("omitted %q, lost %q", omitted, lost)
	}
	for _, spec := range []string{`[]`, `"x"`, `{`, ``} {
		if _, _, _, err := f.Values([]byte(spec)); err == nil {
			t.Errorf("%q has values", spec)
		}
	}
}

// A draft has no secrets, whatever they are, and nothing is wrong with them.
func TestDraft(t *testing.T) {
	t.Parallel()
	f := newForm(t, string(read(t, "../taskgen/schema/testdata/shown/gen/showntask/spec.schema.json")))
	values := specform.Values{
		"people": {"0190b3a1-7c3e-7000-8000-000000000001"}, "status": {"active"}, "home.street": {"Dorset St"}, "wait": {"1000000000"}, "part.size": {"1"},
		"login.user": {"ada"}, "login.password": {"short"}, "login.keys": {"{"},
	}
	want := `{"people":["0190b3a1-7c3e-7000-8000-000000000001"],"status":"active","home":{"street":"Dorset St"},"wait":1000000000,"login":{"user":"ada"},"part":{"size":1}}`
	if spec, problems := f.Draft(values); string(spec) != want || len(problems) > 0 {
		t.Errorf("the draft is %s, %v", spec, problems)
	}
	values[specform.Root] = []string{`{"login":{"password":"hunter2345"}}`}
	if spec, problems := f.Draft(values); len(problems) > 0 || !same(t, spec, []byte(want)) {
		t.Errorf("the draft is %s, %v", spec, problems)
	}
	if _, problems := f.Parse(values); len(problems) != 2 || problems[0].Field != "login.password" || problems[1].Field != "login.keys" {
		t.Errorf("the problems are %v", problems)
	}
	values["wait"] = []string{"x"}
	if _, problems := f.Draft(values); len(problems) != 1 || problems[0].Field != "wait" {
		t.Errorf("the problems are %v", problems)
	}
}

// A spec that is no object has one field.
func TestSpecsOfOneValue(t *testing.T) {
	t.Parallel()
	f := newForm(t, `{"type":["array","null"],"items":{"type":"integer"},"description":"Spec is a list."}`)
	spec, problems := f.Parse(specform.Values{"spec": {"1 2"}})
	if string(spec) != "[1,2]" || len(problems) > 0 || len(f.Fields) != 1 {
		t.Errorf("%s, %v, %d fields", spec, problems, len(f.Fields))
	}
	if values, _, _, err := f.Values(spec); err != nil || !reflect.DeepEqual(values, specform.Values{"spec": {"1\n2"}}) {
		t.Errorf("the values are %q, %v", values, err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		``:                                "specform: the schema is no JSON: it ends too early",
		`[]`:                              "specform: the schema: [] is no schema",
		`{"pattern":"("}`:                 "specform: the schema: pattern: error parsing regexp: missing closing ): `(`",
		`{"properties":{"a":1}}`:          "specform: the schema: properties: a: 1 is no schema",
		`{"type":"object","minItems":{}}`: "specform: the schema: minItems: strconv.ParseInt: parsing \"\": invalid syntax",
	} {
		if _, err := specform.New([]byte(schema)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", schema, err, want)
		}
	}
}

// Of a list of thousands of mistakes the first are reported, and how many more there are.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	f := newForm(t, hostile)
	_, problems := f.Parse(specform.Values{"numbers": {strings.Repeat("x ", 5000)}, "yes": {"?"}})
	if len(problems) != 22 || problems[21].Text != "and 4,980 more problems" || problems[0].Field != "yes" {
		t.Errorf("%d problems, the last is %q", len(problems), problems[len(problems)-1])
	}
}

// A text that is larger than a spec may be is refused before it is read.
func TestParseTooLarge(t *testing.T) {
	t.Parallel()
	f := newForm(t, hostile)
	large := strings.Repeat("1,", 5<<20)
	for _, name := range []string{"numbers", "any", "limits", "a.b", "rows", "tree", specform.Root} {
		_, problems := f.Parse(specform.Values{name: {large}})
		if len(problems) == 0 || problems[0].Text != "is larger than the 4 MiB that a spec may have" {
			t.Errorf("%s: %.300v", name, problems)
		}
	}
}
