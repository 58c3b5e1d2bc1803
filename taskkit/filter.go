package taskkit

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// filterMost bounds the lists of a filter. The databases differ in how many
// parameters a statement may have.
const filterMost = 10_000

// pageMost is the greatest limit of a page.
const pageMost = 1000

// check refuses values that one database would reject with its own error and the
// other would silently not find.
func (f *Filter) check() error {
	for _, l := range []struct {
		name string
		n    int
	}{{"IDs", len(f.IDs)}, {"Kinds", len(f.Kinds)}, {"Statuses", len(f.Statuses)}} {
		if l.n > filterMost {
			return &OptionError{"Filter." + l.name, fmt.Sprintf("%d values, more than %d: split the query", l.n, filterMost)}
		}
	}
	for _, s := range f.Statuses {
		if !lifecycle.Status(s).Valid() {
			return &OptionError{"Filter.Statuses", fmt.Sprintf("%q is not a status", string(s))}
		}
	}
	for _, k := range f.Kinds {
		if err := checkFilterText("Kinds", k); err != nil {
			return err
		}
	}
	for _, t := range [][2]string{{"Queue", f.Queue}, {"Reference", f.Reference}, {"UniqueKey", f.UniqueKey}, {"Code", f.Code}} {
		if err := checkFilterText(t[0], t[1]); err != nil {
			return err
		}
	}
	if f.Limit < 0 || f.Limit > pageMost {
		return &OptionError{"Filter.Limit", fmt.Sprintf("%d is not between 1 and %d: list page by page", f.Limit, pageMost)}
	}
	if f.EndedFor < 0 {
		return &OptionError{"Filter.EndedFor", "it is negative: use a positive duration, such as 24*time.Hour"}
	}
	return nil
}

// store checks the filter and returns it for the store.
func (f *Filter) store() (store.Filter, error) {
	if err := f.check(); err != nil {
		return store.Filter{}, err
	}
	sf := store.Filter{
		IDs: f.IDs, Kinds: f.Kinds, Owner: f.Owner, Queue: f.Queue, Reference: f.Reference,
		UniqueKey: f.UniqueKey, Code: f.Code, EndedFor: f.EndedFor,
		Parent: f.Parent, Follows: f.Follows, Running: f.Running, Previews: f.Previews, Paused: f.Paused, Approval: f.Approval, Before: f.Before, Limit: f.Limit,
	}
	sf.Roots = !f.Children && !sf.Names()
	for _, s := range f.Statuses {
		sf.Statuses = append(sf.Statuses, lifecycle.Status(s))
	}
	if sf.Limit == 0 {
		sf.Limit = 50
	}
	return sf, nil
}

func checkFilterText(field, v string) error {
	if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
		return &OptionError{"Filter." + field, "contains a NUL byte or invalid UTF-8, which no task can have"}
	}
	return nil
}
