package openapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"taskkit.dev/taskkit"
)

// request is one that the document has, or nearly.
type request struct {
	method   string
	template string // of the path in the document; "": it has none
	path     string // decoded
	address  string // encoded, with the query
	header   http.Header
	body     string
	valid    bool // all of it is as the document has it
	hasty    bool // the client goes before the answer
}

func (r *request) String() string {
	body := r.body
	if len(body) > 300 {
		body = fmt.Sprintf("%s… (%d bytes)", body[:300], len(body))
	}
	return fmt.Sprintf("%s %s %v %q", r.method, r.address, r.header, body)
}

// generator makes requests.
type generator struct {
	*document
	person uuid.UUID
	own    []taskkit.ID
	others []taskkit.ID
}

// often draws true in so many cases of 100.
func often(t *rapid.T, percent int, label string) bool {
	return rapid.IntRange(0, 99).Draw(t, label) >= 100-percent
}

// draw draws a request.
func (g *generator) draw(t *rapid.T) *request {
	o := rapid.SampledFrom(g.operations).Draw(t, "operation")
	r := &request{method: o.method, template: o.template, valid: true, header: http.Header{personHeader: {g.person.String()}}}
	r.path = o.template
	encoded := o.template
	for name, draw := range map[string]func(*rapid.T) string{"{id}": g.id, "{kind}": kindName, "{name}": operatedName} {
		if !strings.Contains(r.path, name) {
			continue
		}
		value := draw(t)
		r.path = strings.Replace(r.path, name, value, 1)
		encoded = strings.Replace(encoded, name, url.PathEscape(value), 1)
	}
	if often(t, 3, "other path") {
		more := rapid.SampledFrom([]string{"/", "//", "/x/y/z", "/..", "%2f..%2f", "/stop/stop/stop"}).Draw(t, "more")
		encoded += more
		r.template, r.valid = "", false
	}
	query := g.parameters(t, r, o)
	r.address = encoded
	if query != "" {
		r.address += "?" + query
	}
	if u, err := url.Parse(r.address); err == nil {
		r.path = u.Path
	}
	if o.RequestBody != nil {
		g.drawBody(t, r, o)
	}
	if often(t, 5, "other method") {
		r.method = rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"}).Draw(t, "method")
		r.valid = false
	}
	if often(t, 8, "other header") {
		header := rapid.SampledFrom(otherHeaders).Draw(t, "header")
		r.header.Set(header[0], header[1])
		r.valid = false
	}
	if often(t, 3, "other person") {
		r.header.Set(personHeader, rapid.SampledFrom([]string{"", "x", uuid.Nil.String(), uuid.NewString()}).Draw(t, "person"))
	}
	return r
}

// otherHeaders are headers that may disturb a call.
var otherHeaders = [][2]string{
	{"Content-Type", "text/plain"},
	{"Content-Type", ""},
	{"Content-Type", "application/json; charset=latin1"},
	{"Content-Type", "application/json; charset"},
	{"Content-Type", "application/jsonx"},
	{"Content-Type", ";;;"},
	{"Content-Encoding", "gzip"},
	{"Content-Encoding", "identity"},
	{"Sec-Fetch-Site", "cross-site"},
	{"Origin", "https://other.example"},
	{"Accept", "text/html"},
	{"Accept", "\"'"},
	{"Accept-Encoding", "br;q=x"},
	{"Range", "bytes=0-0"},
	{"Range", "bytes=-1"},
	{"If-Match", "*"},
	{"If-None-Match", "*"},
	{"If-None-Match", `W/"`},
	{"If-None-Match", strings.Repeat(`"x",`, 1000)},
	{"If-Modified-Since", "never"},
	{"Prefer", "wait=-1"},
	{"Prefer", "wait=x, wait"},
	{"Prefer", "respond-async;wait"},
	{"Prefer", ",,,="},
	{"X-HTTP-Method-Override", "DELETE"},
	{"Last-Event-ID", "-1"},
	{"Traceparent", "00-x"},
	{"Idempotency-Key", strings.Repeat("k", 300)},
	{"Idempotency-Key", `"`},
	{"Idempotency-Key", "\t"},
	{"Idempotency-Key", "\u00e9"},
	{"Cookie", "a=b; \"; c"},
	{"Connection", "close"},
}

// id draws the id of an own job mostly, and otherwise of another person's job or of none.
func (g *generator) id(t *rapid.T) string {
	switch n := rapid.IntRange(0, 19).Draw(t, "which id"); {
	case n < 14 && len(g.own) > 0:
		return rapid.SampledFrom(g.own).Draw(t, "own").String()
	case n < 17:
		return rapid.SampledFrom(g.others).Draw(t, "foreign").String()
	case n == 17:
		return uuid.NewString()
	}
	return malformed(t)
}

// malformed draws what is no id.
func malformed(t *rapid.T) string {
	id := uuid.NewString()
	return rapid.OneOf(rapid.SampledFrom([]string{
		"none", "0", "-1", strings.ToUpper(id), "{" + id + "}", "urn:uuid:" + id, strings.ReplaceAll(id, "-", ""), id + "0", id[1:], " " + id, id + "\x00",
		"' OR 1=1 --", "..", ".", "%2e%2e", "a/b", strings.Repeat("9", 5000), "\xff\xfe", "\u202e", "*", "null",
	}), rapid.StringN(1, 20, -1)).Draw(t, "malformed")
}

func kindName(t *rapid.T) string {
	if often(t, 70, "kind") {
		return "fuzz"
	}
	return malformed(t)
}

// operatedName draws the name of a schedule or of a queue.
func operatedName(t *rapid.T) string {
	if often(t, 80, "name") {
		return rapid.SampledFrom([]string{scheduleName, "default", "0", "a.b-c_d"}).Draw(t, "operated")
	}
	return malformed(t)
}

// parameters draws the parameters of the query, and sets the headers.
func (g *generator) parameters(t *rapid.T, r *request, o operation) string {
	var query []string
	for _, ref := range o.Parameters {
		p := ref.Value
		how := rapid.IntRange(0, 9).Draw(t, p.Name)
		if how < 4 {
			r.valid = r.valid && !p.Required
			continue
		}
		var value string
		switch {
		case how == 9:
			value = wild(t)
			r.valid = false
		case p.Name == "Prefer":
			value = rapid.SampledFrom([]string{"wait=0", "respond-async", "wait=3600"}).Draw(t, "preference")
		case strings.HasSuffix(p.Name, "Period"):
			value = rapid.SampledFrom([]string{"0", "0s", "1ms", "1us", "0.01s", "5ms", "60s"}).Draw(t, "duration")
		case p.Name == "Idempotency-Key":
			value = rapid.SampledFrom([]string{"a", "b", `"c"`, "d e", "f"}).Draw(t, "key")
		default:
			value = fmt.Sprint(g.value(t, p.Schema, 0))
		}
		r.hasty = r.hasty || value == "wait=3600" || value == "60s"
		if p.In == "header" {
			r.header.Set(p.Name, value)
			continue
		}
		query = append(query, p.Name+"="+url.QueryEscape(value))
	}
	if often(t, 5, "other parameter") {
		query = append(query, rapid.SampledFrom([]string{"x=1", "limit=1&limit=2", "since=%zz", ";", "&&&", "=", "preview=true", "\xc3\xa9=1", "limit[]=1"}).Draw(t, "parameter"))
		r.valid = false
	}
	return strings.Join(query, "&")
}

// wild draws a value that few parameters may have.
func wild(t *rapid.T) string {
	return rapid.OneOf(rapid.SampledFrom([]string{
		"", "-1", "-1s", "0x10", "1e3", "NaN", "99999999999999999999", "-9223372036854775808", "1e9h", "61s", "9999999h", "wait=99999999999999999999", "wait=-1",
		"\x00", "%", "' OR 1=1 --", "../..", strings.Repeat("x", 5000), "null", "\u202e", "{}", "[]", uuid.NewString(), "QUEUING", "EXECUTING",
		"000000000000.000000000000", "\xff",
	}), rapid.String()).Draw(t, "wild")
}

// value draws a value of a schema. A value that is too deep is left out where it may be.
func (g *generator) value(t *rapid.T, ref *openapi3.SchemaRef, depth int) any {
	s := ref.Value
	switch {
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	case len(s.AnyOf) > 0 && depth > 3:
		return g.value(t, s.AnyOf[len(s.AnyOf)-1], depth+1)
	case len(s.AnyOf) > 0:
		return g.value(t, rapid.SampledFrom(s.AnyOf).Draw(t, "any of"), depth+1)
	case s.Format == "uuid":
		for {
			if id := g.id16(t); s.Not == nil || id != uuid.Nil.String() { // which the only one excludes
				return id
			}
		}
	case s.Format == "date-time":
		return rapid.SampledFrom([]string{"2026-01-02T03:04:05Z", "1999-12-31T23:59:59.5+02:00"}).Draw(t, "time")
	case s.Pattern != "":
		return rapid.StringMatching(s.Pattern).Draw(t, "matching")
	}
	kinds := s.Type.Slice()
	if len(kinds) == 0 {
		kinds = []string{"object"}
	}
	switch rapid.SampledFrom(kinds).Draw(t, "type") {
	case "string":
		most := 40
		if s.MaxLength != nil {
			most = int(min(*s.MaxLength, 5000)) //nolint:gosec // it is small
		}
		return rapid.StringOfN(rapid.Rune().Filter(func(c rune) bool { return c != 0 }), int(s.MinLength), most, -1).Draw(t, "text") //nolint:gosec // it is small
	case "integer":
		from, to := -1000, 1000
		if s.Min != nil {
			from = int(*s.Min)
		}
		if s.Max != nil {
			to = int(*s.Max)
		}
		return rapid.IntRange(from, to).Draw(t, "integer")
	case "number":
		from, to := -1e15, 1e15
		if s.Min != nil {
			from = *s.Min
		}
		if s.Max != nil {
			to = *s.Max
		}
		if s.Not != nil { // only a rate has one, which may be 0
			if often(t, 20, "no rate") {
				return 0
			}
			from = 0.001
		}
		return rapid.Float64Range(from, to).Draw(t, "number")
	case "boolean":
		return rapid.Bool().Draw(t, "flag")
	case "array":
		out := []any{}
		for range rapid.IntRange(int(min(s.MinItems, 5)), 5).Draw(t, "length") {
			out = append(out, g.value(t, s.Items, depth+1))
		}
		return out
	case "object":
		out := map[string]any{}
		names := make([]string, 0, len(s.Properties))
		for name := range s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
		required := s.Required
		if s.Not != nil { // the only ones are that there is more than a reason, or than a reason and children
			others := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "reason" || name == "children" })
			required = append(slices.Clone(required), rapid.SampledFrom(others).Draw(t, "required"))
		}
		for _, name := range names {
			if slices.Contains(required, name) || often(t, 30, name) {
				out[name] = g.value(t, s.Properties[name], depth+1)
			}
		}
		if len(out) < int(s.MinProps) { //nolint:gosec // it is small
			name := rapid.SampledFrom(names).Draw(t, "at least")
			out[name] = g.value(t, s.Properties[name], depth+1)
		}
		if out["from"] != nil && out["to"] != nil {
			out["to"] = "2100-01-01T00:00:00Z" // the end of a period is after its beginning
		}
		return out
	}
	return nil
}

// id16 draws a well-formed id.
func (g *generator) id16(t *rapid.T) string {
	return rapid.SampledFrom(append(append([]taskkit.ID{uuid.Nil, uuid.Max}, g.own...), g.others...)).Draw(t, "id").String()
}
