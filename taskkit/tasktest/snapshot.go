package tasktest

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// maxDiffRows is how many rows a comparison prints of each side.
const maxDiffRows = 20

// difference is how two snapshots differ, in rows.
type difference struct {
	missing, extra []string
	order          bool // the rows are the same
}

// diff compares two snapshots by their values. A snapshot that is a slice or a map has a row for each element, and a struct
// the rows of its fields.
func diff(got, want any) difference {
	g, w := rows(reflect.ValueOf(got)), rows(reflect.ValueOf(want))
	if slices.Equal(g, w) {
		return difference{}
	}
	d := difference{missing: without(w, g), extra: without(g, w)}
	d.order = len(d.missing)+len(d.extra) == 0
	return d
}

// equal reports whether there is no difference.
func (d difference) equal() bool { return len(d.missing)+len(d.extra) == 0 && !d.order }

// rows returns the rows that are missing (-) and those that are there instead (+).
func (d difference) rows() string {
	if d.order {
		return "the same rows in another order: order them in Snapshot\n"
	}
	var b strings.Builder
	for _, side := range []struct {
		sign string
		rows []string
	}{{"-", d.missing}, {"+", d.extra}} {
		for i, r := range side.rows {
			if i == maxDiffRows {
				fmt.Fprintf(&b, "%s ... and %d more\n", side.sign, len(side.rows)-i)
				break
			}
			fmt.Fprintf(&b, "%s %s\n", side.sign, r)
		}
	}
	return b.String()
}

// String returns the rows, and what executors often do wrong that have such rows after a fault.
func (d difference) String() string {
	s := d.rows()
	if len(d.missing) > 0 {
		s += "rows are missing: " + askPosition + "\n"
	}
	if len(d.extra) > 0 {
		s += "rows were added or changed: does it write other than through b.Tx?\n"
	}
	return s
}

// without returns the rows of a that b lacks, as often as it lacks them.
func without(a, b []string) (left []string) {
	n := make(map[string]int, len(b))
	for _, r := range b {
		n[r]++
	}
	for _, r := range a {
		if n[r]--; n[r] < 0 {
			left = append(left, r)
		}
	}
	return left
}

// rows returns the elements of a snapshot as text. A struct has the elements of its fields.
func rows(v reflect.Value) (all []string) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.IsValid() && v.CanInterface() {
		if _, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
			return []string{text(v)}
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, text(v.Index(i)))
		}
	case reflect.Map:
		for _, k := range keys(v) {
			all = append(all, text(k)+": "+text(v.MapIndex(k)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !isData(f) {
				continue
			}
			field := []string{text(v.Field(i))}
			if k := f.Type.Kind(); k == reflect.Slice || k == reflect.Map {
				field = rows(v.Field(i))
			}
			for _, r := range field {
				all = append(all, f.Name+": "+r)
			}
		}
	default:
		all = []string{text(v)}
	}
	return all
}

// text returns a value as text, through pointers, with what its fields have. Values that differ have
// different texts.
func text(v reflect.Value) string {
	var b strings.Builder
	write(&b, v, make(map[uintptr]bool))
	return b.String()
}

// write writes a value. On are the pointers that lead to it: a cycle is written as "...".
func write(b *strings.Builder, v reflect.Value, on map[uintptr]bool) {
	if v.IsValid() && v.CanInterface() {
		switch x := v.Interface().(type) {
		case time.Time:
			b.WriteString(x.UTC().Format(time.RFC3339Nano))
			return
		case encoding.TextMarshaler:
			if v.Kind() == reflect.Pointer && v.IsNil() {
				break
			}
			if s, err := x.MarshalText(); err == nil {
				fmt.Fprintf(b, "%q", s)
				return
			}
		}
	}
	switch v.Kind() {
	case reflect.Invalid:
		b.WriteString("nil")
	case reflect.Interface:
		write(b, v.Elem(), on)
	case reflect.Pointer:
		switch {
		case v.IsNil():
			b.WriteString("nil")
		case on[v.Pointer()]:
			b.WriteString("...")
		default:
			on[v.Pointer()] = true
			write(b, v.Elem(), on)
			delete(on, v.Pointer())
		}
	case reflect.Struct:
		writeFields(b, v, on)
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%q", v.Bytes())
			return
		}
		b.WriteByte('[')
		for i := range v.Len() {
			if i > 0 {
				b.WriteByte(' ')
			}
			write(b, v.Index(i), on)
		}
		b.WriteByte(']')
	case reflect.Map:
		b.WriteByte('{')
		for i, k := range keys(v) {
			if i > 0 {
				b.WriteByte(' ')
			}
			write(b, k, on)
			b.WriteByte(':')
			write(b, v.MapIndex(k), on)
		}
		b.WriteByte('}')
	default:
		fmt.Fprintf(b, "%v", v)
	}
}

// writeFields writes the fields of a struct that hold data.
func writeFields(b *strings.Builder, v reflect.Value, on map[uintptr]bool) {
	b.WriteByte('{')
	space := ""
	for i := range v.NumField() {
		if f := v.Type().Field(i); isData(f) {
			b.WriteString(space + f.Name + ":")
			write(b, v.Field(i), on)
			space = " "
		}
	}
	b.WriteByte('}')
}

// isData reports whether a field holds data. An entity of ent also has fields for its own use: its client, which is
// not exported and no part of its JSON, and values of a type of ent.
func isData(f reflect.StructField) bool {
	if !f.IsExported() && f.Tag.Get("json") == "-" || strings.HasPrefix(f.Type.PkgPath(), "entgo.io/ent") {
		return false
	}
	switch f.Type.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return false
	default:
		return true
	}
}

// keys returns the keys of a map in the order of their texts.
func keys(m reflect.Value) []reflect.Value {
	return slices.SortedFunc(slices.Values(m.MapKeys()), func(x, y reflect.Value) int { return cmp.Compare(text(x), text(y)) })
}
