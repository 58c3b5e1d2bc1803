package taskui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/specform"
)

// entered is what a person has entered into the form of a kind.
type entered struct {
	values   specform.Values
	problems specform.Problems
	tables   map[string]*specform.Table // files with rows that are wrong, by field
	read     map[string]string          // what was read from files, by field
}

// fieldView is a field of a form.
type fieldView struct {
	Name, ID, Label, Help string
	Accepts               string // what can be entered
	Input                 string // of the template: text, area, select, check, secret, group
	Value                 string
	Checked, Required     bool
	Numeric               bool
	Rows                  int // of a text of lines
	Options               []optionView
	Errors                []string
	Fields                []fieldView // of a group
	Own                   bool        // a group that can be empty and yet there
	File                  bool        // a list that takes CSV
	Read                  string      // what was read from a file
	Table                 *tableView
}

type optionView struct {
	Value, Text string
	Selected    bool
}

// tableView are rows of a file that are wrong, to be corrected.
type tableView struct {
	Source      string // the name and the text of the hidden input with the file
	SourceText  string
	Skip        string // the name of the box that leaves them all out
	Columns     []string
	Rows        []rowView
	Total, More int64 // rows of the file, and problems that are not shown
}

type rowView struct {
	Line     int
	Drop     string // the name of the box that leaves it out
	Cells    []cellView
	Problems []string // of the row as a whole
}

type cellView struct{ Name, ID, Label, Value, Problem string }

// fieldViews makes the fields of one page.
type fieldViews struct {
	in      *entered
	secrets bool // there are fields that the next page has
	entry   bool // the page is the one on which secrets are entered
	next    int
	wrong   []wrongView
}

// wrongView is a link to a field with an error.
type wrongView struct{ ID, Label string }

func (b *fieldViews) all(fields []*specform.Field) (views []fieldView) {
	for _, f := range fields {
		if isSecret(f) && !b.entry {
			b.secrets = true
			continue
		}
		views = append(views, b.one(f))
	}
	return views
}

// one makes the view of a field.
func (b *fieldViews) one(f *specform.Field) fieldView {
	b.next++
	v := fieldView{
		Name: fieldPrefix + f.Name, ID: "f" + strconv.Itoa(b.next), Label: f.Label, Help: f.Help, Accepts: accepts(f), Required: f.Required,
		Errors: b.in.problems.Of(f.Name), Read: b.in.read[f.Name], Numeric: f.Type == specform.Integer,
	}
	if given := b.in.values[f.Name]; f.Type == specform.List && len(given) > 0 {
		v.Value = strings.Join(given, "\n")
	} else if len(given) > 0 {
		v.Value = given[len(given)-1]
	}
	if len(v.Errors) > 0 {
		b.wrong = append(b.wrong, wrongView{v.ID, f.Label})
	}
	switch v.Rows = 4; f.Type {
	case specform.Group:
		v.Input, v.Fields, v.Own = "group", b.all(f.Fields), f.Nullable
		v.Checked = strings.HasPrefix(strings.TrimSpace(v.Value), "{")
	case specform.Choice:
		v.Input, v.Options = "select", options(f.Enum, f.Required && !slices.Contains(f.Enum, ""), v.Value)
	case specform.Boolean:
		v.Input, v.Checked = "check", slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(strings.TrimSpace(v.Value)))
		if f.Nullable || len(v.Errors) > 0 {
			v.Input, v.Options = "select", options([]string{"true", "false"}, false, v.Value)
		}
	case specform.List, specform.Map, specform.JSON:
		v.Input = "area"
	case specform.Text:
		v.Input, v.Rows = "text", 2
		if f.MaxLength == 0 || f.MaxLength > 200 || strings.ContainsAny(v.Value, "\r\n") {
			v.Input = "area"
		}
	default:
		v.Input = "text"
	}
	if f.Type == specform.List && f.Item != nil && f.Item.Type != specform.JSON && f.Item.Type <= specform.Group && !b.entry {
		v.File, v.Table = true, b.table(f)
	}
	if b.entry && v.Input != "group" { // never shown again
		v.Value, v.File, v.Table = "", false, nil
		if v.Input != "area" || f.Type == specform.Text {
			v.Input = "secret"
		}
	}
	return v
}

// options returns the options of a choice. What was entered and is none of them is one more, so that it is kept.
func options(values []string, required bool, chosen string) (all []optionView) {
	if !required || chosen == "" {
		all = append(all, optionView{"", "", chosen == ""})
	}
	for _, value := range values {
		if value != "" {
			all = append(all, optionView{value, clean(value), value == chosen})
		}
	}
	if chosen != "" && !slices.Contains(values, chosen) {
		all = append(all, optionView{chosen, clean(chosen), true})
	}
	return all
}

// accepts says what can be entered into a field.
func accepts(f *specform.Field) string {
	var parts []string
	if what := map[specform.Type]string{
		specform.JSON: "as JSON", specform.UUID: "a UUID", specform.Date: "a date, such as 2026-07-01", specform.Time: "a time, such as 2026-07-01 09:00, in UTC without a zone",
		specform.Bytes: "bytes in base64", specform.Map: "a line name=value for each, or JSON",
	}[f.Type]; what != "" {
		parts = append(parts, what)
	}
	if f.Type == specform.List {
		parts = append(parts, acceptsList(f))
	}
	for _, bound := range []struct {
		low, high int
		things    string
	}{{f.MinLength, f.MaxLength, "characters"}, {f.MinItems, f.MaxItems, "entries"}} {
		switch {
		case bound.low > 1 && bound.high > 0:
			parts = append(parts, fmt.Sprintf("%s to %s %s", count(int64(bound.low)), count(int64(bound.high)), bound.things))
		case bound.high > 0:
			parts = append(parts, fmt.Sprintf("at most %s %s", count(int64(bound.high)), bound.things))
		case bound.low > 1:
			parts = append(parts, fmt.Sprintf("at least %s %s", count(int64(bound.low)), bound.things))
		}
	}
	if f.Unique {
		parts = append(parts, "none twice")
	}
	if len(f.Min) < 16 && len(f.Max) < 16 { // otherwise they are the bounds of the type of Go
		switch {
		case f.Min != "" && f.Max != "":
			parts = append(parts, f.Min+" to "+f.Max)
		case f.Min != "":
			parts = append(parts, "at least "+f.Min)
		case f.Max != "":
			parts = append(parts, "at most "+f.Max)
		}
	}
	return strings.Join(parts, "; ")
}

func acceptsList(f *specform.Field) string {
	switch {
	case f.Item == nil || f.Item.Type == specform.JSON || f.Item.Type > specform.Group:
		return "a list as JSON"
	case f.Item.Type == specform.Group:
		var names []string
		for _, one := range f.Item.Fields {
			names = append(names, one.Name)
		}
		return "CSV whose first line has the names " + strings.Join(names, ", ") + ", or JSON"
	default:
		return "one for each line"
	}
}

// mostCells bounds the cells to correct on one page: the inputs of a form are limited.
const mostCells = 600

// table makes the view of the rows of a file that are wrong.
func (b *fieldViews) table(f *specform.Field) *tableView {
	t := b.in.tables[f.Name]
	if t == nil {
		return nil
	}
	v := &tableView{Source: sourceName(f), SourceText: t.Source, Skip: "skip." + f.Name, Columns: t.Columns, Total: int64(t.Rows), More: int64(t.More)}
	for _, p := range t.Problems {
		i := slices.IndexFunc(v.Rows, func(r rowView) bool { return r.Line == p.Line })
		if i < 0 {
			if (len(v.Rows)+1)*(len(t.Columns)+1) > mostCells {
				v.More++
				continue
			}
			i = len(v.Rows)
			row := rowView{Line: p.Line, Drop: fmt.Sprintf("drop.%s %d", f.Name, p.Line)}
			for j, cell := range t.Bad[p.Line] {
				b.next++
				row.Cells = append(row.Cells, cellView{
					Name: cellName(f, p.Line, j), ID: "f" + strconv.Itoa(b.next), Label: fmt.Sprintf("%s of line %d", t.Columns[j], p.Line), Value: cell,
				})
			}
			v.Rows = append(v.Rows, row)
		}
		if j := slices.Index(t.Columns, p.Column); j >= 0 {
			v.Rows[i].Cells[j].Problem = p.Text
		} else {
			v.Rows[i].Problems = append(v.Rows[i].Problems, p.Text)
		}
	}
	return v
}

func sourceName(f *specform.Field) string { return "csv." + f.Name }

func cellName(f *specform.Field, line, column int) string {
	return fmt.Sprintf("fix.%s %d %d", f.Name, line, column)
}
