package specform

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// location is where in a spec a value is.
type location struct {
	up    *location
	name  string
	index int // of an element; -1 for a member
}

func (p *location) member(name string) *location { return &location{p, name, -1} }
func (p *location) element(i int) *location      { return &location{p, "", i} }

// pointer returns the location as RFC 6901 writes it.
func (p *location) pointer() string {
	if p == nil {
		return ""
	}
	if p.index >= 0 {
		return p.up.pointer() + "/" + strconv.Itoa(p.index)
	}
	return p.up.pointer() + "/" + pointerEscapes.Replace(p.name)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// checker checks a value against a schema.
type checker struct {
	defs   map[string]*node
	report func(at *location, v any, problem string) // nil: the first problem suffices
	failed bool
}

func (c *checker) fail(at *location, v any, problem string, args ...any) {
	if c.failed = true; c.report != nil {
		c.report(at, v, fmt.Sprintf(problem, args...))
	}
}

// fits reports whether a value fits a schema.
func (c *checker) fits(n *node, v any) bool {
	quick := &checker{defs: c.defs}
	quick.check(n, v, nil)
	return !quick.failed
}

// check reports what of a value does not fit.
func (c *checker) check(n *node, v any, at *location) {
	if c.failed && c.report == nil {
		return
	}
	if n.ref != "" {
		if d := c.defs[n.ref]; d != nil {
			c.check(d, v, at)
		}
	}
	if len(n.types) > 0 && !slices.ContainsFunc(n.types, func(t string) bool { return isType(v, t) }) {
		c.fail(at, v, "must be %s", named(n.types))
		return
	}
	switch {
	case n.hasConst && !equal(n.constant, v):
		c.fail(at, v, "must be %s", shown(n.constant))
	case len(n.enum) > 0 && !slices.ContainsFunc(n.enum, func(e any) bool { return equal(e, v) }):
		c.fail(at, v, "must be one of %s", choices(n.enum))
	}
	switch v := v.(type) {
	case string:
		c.text(n, v, at)
	case json.Number:
		c.number(n, v, at)
	case []any:
		c.list(n, v, at)
	case *object:
		c.object(n, v, at)
	}
	if n.not != nil && c.fits(n.not, v) {
		switch {
		case zero(v):
			c.fail(at, v, "is required")
		case len(n.not.enum) > 0:
			c.fail(at, v, "must be none of %s", choices(n.not.enum))
		default:
			c.fail(at, v, "must not be %s", shown(v))
		}
	}
	for _, all := range n.allOf {
		c.check(all, v, at)
	}
	if len(n.anyOf) > 0 && !slices.ContainsFunc(n.anyOf, func(one *node) bool { return c.fits(one, v) }) {
		c.alternatives(n.anyOf, v, at)
	}
	if n.condition != nil && n.then != nil && c.fits(n.condition, v) {
		c.check(n.then, v, at)
	}
}

// alternatives reports why a value fits none of a list of schemas, by the last of them that is for its type: the first are null
// and zero values.
func (c *checker) alternatives(list []*node, v any, at *location) {
	if problem := formatProblem(list); problem != "" {
		c.fail(at, v, "%s", problem)
		return
	}
	best := list[0]
	for _, one := range list {
		r := c.resolve(one)
		if len(r.types) == 0 || slices.ContainsFunc(r.types, func(t string) bool { return t != "null" && isType(v, t) }) || best == list[0] && !slices.Contains(r.types, "null") {
			best = one
		}
	}
	c.check(best, v, at)
}

func (c *checker) resolve(n *node) *node {
	if d := c.defs[n.ref]; n.ref != "" && d != nil {
		return d
	}
	return n
}

// formatProblem says what values have the forms of a list of schemas; "" if these are not forms.
func formatProblem(list []*node) string {
	var formats []string
	for _, n := range list {
		if n.format != "" {
			formats = append(formats, n.format)
		}
	}
	if len(formats) == 2 {
		return "must be an IP address, such as 192.0.2.1 or 2001:db8::1"
	}
	if len(formats) == 1 {
		return formatText(formats[0])
	}
	return ""
}

func formatText(format string) string {
	switch format {
	case "uuid":
		return "must be a UUID, such as 0190b3a1-7c3e-7000-8000-000000000001"
	case "date-time":
		return "must be a date and a time with its zone, such as 2026-07-01T09:00:00Z"
	case "date":
		return "must be a date, such as 2026-07-01"
	case "ipv4":
		return "must be an IPv4 address, such as 192.0.2.1"
	case "ipv6":
		return "must be an IPv6 address, such as 2001:db8::1"
	default:
		return "must be of the format " + format
	}
}

// hasFormat reports whether a text has a format. For the other formats, taskgen writes a pattern too.
func hasFormat(format, s string) bool {
	switch format {
	case "date-time":
		_, err := time.Parse(time.RFC3339, s)
		return err == nil
	case "date":
		_, err := time.Parse(time.DateOnly, s)
		return err == nil
	case "ipv4":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is4()
	case "ipv6":
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6()
	default:
		return true
	}
}

func (c *checker) text(n *node, s string, at *location) {
	length := -1
	if n.minLength != nil || n.maxLength != nil {
		length = utf8.RuneCountInString(s)
	}
	switch {
	case n.minLength != nil && length < *n.minLength && length == 0:
		c.fail(at, s, "is required")
	case n.minLength != nil && length < *n.minLength:
		c.fail(at, s, "must have at least %s; it has %s", counted(*n.minLength, "character"), thousands(length))
	case n.maxLength != nil && length > *n.maxLength:
		c.fail(at, s, "must have at most %s; it has %s", counted(*n.maxLength, "character"), thousands(length))
	case n.pattern != nil && !n.pattern.MatchString(s):
		switch {
		case n.format != "":
			c.fail(at, s, "%s", formatText(n.format))
		case n.base64:
			c.fail(at, s, "must be bytes in base64, such as aGVsbG8=")
		default:
			c.fail(at, s, "must match %s", n.pattern)
		}
	case !hasFormat(n.format, s):
		c.fail(at, s, "%s", formatText(n.format))
	}
}

func (c *checker) number(n *node, v json.Number, at *location) {
	if n.minimum == "" && n.maximum == "" && n.exclusiveMinimum == "" && n.exclusiveMaximum == "" {
		return
	}
	switch {
	case n.minimum != "" && compare(v, n.minimum) < 0:
		c.fail(at, v, "must be at least %s", n.minimum)
	case n.exclusiveMinimum != "" && compare(v, n.exclusiveMinimum) <= 0:
		c.fail(at, v, "must be more than %s", n.exclusiveMinimum)
	case n.maximum != "" && compare(v, n.maximum) > 0:
		c.fail(at, v, "must be at most %s", n.maximum)
	case n.exclusiveMaximum != "" && compare(v, n.exclusiveMaximum) >= 0:
		c.fail(at, v, "must be less than %s", n.exclusiveMaximum)
	}
}

func (c *checker) list(n *node, list []any, at *location) {
	switch {
	case n.minItems != nil && len(list) < *n.minItems && len(list) == 0:
		c.fail(at, list, "is required: at least %s", counted(*n.minItems, "element"))
	case n.minItems != nil && len(list) < *n.minItems:
		c.fail(at, list, "must have at least %s; it has %s", counted(*n.minItems, "element"), thousands(len(list)))
	case n.maxItems != nil && len(list) > *n.maxItems:
		c.fail(at, list, "must have at most %s; it has %s", counted(*n.maxItems, "element"), thousands(len(list)))
		return // the elements are too many to check each
	}
	if n.items != nil {
		for i, v := range list {
			c.check(n.items, v, at.element(i))
		}
	}
	if !n.unique {
		return
	}
	first := make(map[string]int, len(list))
	for i, v := range list {
		key := string(encode(nil, v))
		if j, ok := first[key]; ok {
			c.fail(at.element(i), v, "repeats element %s", thousands(j+1))
			continue
		}
		first[key] = i
	}
}

func (c *checker) object(n *node, o *object, at *location) {
	for _, name := range n.required {
		if _, ok := o.members[name]; !ok {
			c.fail(at.member(name), nil, "is required")
		}
	}
	switch {
	case n.minProperties != nil && len(o.names) < *n.minProperties:
		c.fail(at, o, "must have at least %s; it has %s", counted(*n.minProperties, "entry"), thousands(len(o.names)))
	case n.maxProperties != nil && len(o.names) > *n.maxProperties:
		c.fail(at, o, "must have at most %s; it has %s", counted(*n.maxProperties, "entry"), thousands(len(o.names)))
	}
	for _, name := range o.names {
		v := o.members[name]
		switch of := n.byName[name]; {
		case of != nil:
			c.check(of, v, at.member(name))
		case n.closed:
			c.fail(at.member(name), v, "is no field of this kind")
		case n.additional != nil:
			c.check(n.additional, v, at.member(name))
		}
		if n.propertyNames != nil && !c.fits(n.propertyNames, name) {
			c.name(n.propertyNames, name, at.member(name))
		}
	}
}

// name reports why the name of a member does not fit.
func (c *checker) name(n *node, name string, at *location) {
	if c.report == nil {
		c.failed = true
		return
	}
	of := &checker{defs: c.defs, report: func(_ *location, _ any, problem string) { c.fail(at, nil, "its name %s", problem) }}
	of.check(n, name, nil)
}

func isType(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		return name == "number" || name == "integer" && !strings.ContainsAny(string(v), ".eE")
	case []any:
		return name == "array"
	default:
		return name == "object"
	}
}

// zero reports whether a value is what a field has that was not set.
func zero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return strings.Trim(v, "0-:TZ") == "" || v == "0001-01-01T00:00:00Z"
	case json.Number:
		return rat(v).Sign() == 0
	case *object:
		for _, m := range v.members {
			if !zero(m) {
				return false
			}
		}
		return true
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !zero(e) })
	default:
		return false
	}
}

func equal(a, b any) bool {
	if s, ok := a.(string); ok {
		return b == s
	}
	x, ok := a.(json.Number)
	y, also := b.(json.Number)
	if ok && also {
		return compare(x, y) == 0
	}
	return string(encode(nil, a)) == string(encode(nil, b))
}

func compare(a, b json.Number) int { return rat(a).Cmp(rat(b)) }

// rat returns a number exactly. Its exponent has at most four digits, see [number].
func rat(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat)
	}
	return r
}
