package taskui

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/specform"
)

// The limits of the form of a kind: of all, and of what is kept in memory of a file.
const (
	maxUpload   = 64 << 20
	maxInMemory = 1 << 20
	uploadTime  = 5 * time.Minute
)

// parseUpload reads a form with files. The caller removes them, with removeFiles.
func parseUpload(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	err := r.ParseMultipartForm(maxInMemory)
	switch {
	case err == nil, err == http.ErrNotMultipart: //nolint:errorlint // it is returned as it is
		return nil
	case tooLarge(err):
		return &problem{
			status: http.StatusRequestEntityTooLarge, title: "The form is too large", detail: "With its files it may have " + bytesText(maxUpload) + ".",
			remedy: "Split the file, or use the command taskkit.",
		}
	default:
		return &problem{status: http.StatusBadRequest, title: "The form cannot be read", remedy: "Go back and send it again."}
	}
}

func removeFiles(r *http.Request) {
	if r.MultipartForm != nil {
		_ = r.MultipartForm.RemoveAll()
	}
}

// enteredIn returns what a person has entered into the form of a kind, with the lists of the files. The problems are the problems of files.
func (r *request) enteredIn(k *startable) (*entered, error) {
	in := &entered{values: fieldValues(r.PostForm), tables: map[string]*specform.Table{}, read: map[string]string{}}
	for f := range k.form.All() {
		if f.Type != specform.List {
			continue
		}
		table, err := r.readList(k, in, f)
		if file, ok := errors.AsType[*specform.FileError](err); ok {
			in.problems = append(in.problems, specform.Problem{Field: f.Name, Pointer: f.Pointer, Text: file.Problem})
			continue
		}
		if err != nil {
			return nil, &problem{status: http.StatusBadRequest, title: "The file cannot be read", remedy: "Go back and choose it again."}
		}
		if table == nil {
			continue
		}
		if len(table.Problems) > 0 {
			in.tables[f.Name] = table
			delete(in.values, f.Name)
			in.problems = append(in.problems, specform.Problem{Field: f.Name, Pointer: f.Pointer, Text: wrongRows(table)})
			continue
		}
		in.values[f.Name], in.read[f.Name] = []string{table.Text}, wasRead(table)
	}
	return in, nil
}

// manyLines is how many lines of a list that is pasted are corrected where they are.
const manyLines = 50

// readList reads a list from its file, or from one that was read before and has been corrected, or from many lines that were pasted. There is no table if
// the list is to be read as a text.
func (r *request) readList(k *startable, in *entered, f *specform.Field) (*specform.Table, error) {
	o := specform.CSVOptions{SkipProblems: r.PostForm.Get("skip."+f.Name) != ""}
	if r.MultipartForm != nil {
		if files := r.MultipartForm.File["file."+f.Name]; len(files) > 0 && files[0].Filename != "" {
			file, err := files[0].Open()
			if err != nil {
				return nil, err
			}
			defer file.Close()
			return k.form.ReadCSV(f, file, o)
		}
	}
	if source := r.PostForm.Get(sourceName(f)); source != "" {
		o.Corrections = r.corrections(f)
		return k.form.ReadCSV(f, strings.NewReader(source), o)
	}
	text := strings.Join(in.values[f.Name], "\n")
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(line, "[") || strings.Count(rest, "\n") < manyLines || f.Item == nil || f.Item.Type != specform.Group && strings.ContainsAny(strings.TrimSpace(line), ",; \t") {
		return nil, nil
	}
	return k.form.ReadCSV(f, strings.NewReader(text), o)
}

// corrections returns what a person has entered for the rows of a file, without cells beyond its columns: a number would reserve as many.
func (r *request) corrections(f *specform.Field) map[int][]string {
	columns := 0
	if f.Item != nil {
		for range (&specform.Form{Fields: f.Item.Fields}).All() {
			columns++
		}
	}
	columns = max(columns, 1) // of plain values there is one
	all := map[int][]string{}
	for name, given := range r.PostForm {
		rest, ok := strings.CutPrefix(name, "fix."+f.Name+" ")
		at, column, both := strings.Cut(rest, " ")
		line, err := strconv.Atoi(at)
		i, err2 := strconv.Atoi(column)
		if !ok || !both || err != nil || err2 != nil || i < 0 || i >= columns || r.PostForm.Get(fmt.Sprintf("drop.%s %d", f.Name, line)) != "" {
			continue
		}
		for len(all[line]) <= i {
			all[line] = append(all[line], "")
		}
		all[line][i] = given[0]
	}
	for name := range r.PostForm {
		if rest, ok := strings.CutPrefix(name, "drop."+f.Name+" "); ok {
			if line, err := strconv.Atoi(rest); err == nil {
				all[line] = nil
			}
		}
	}
	return all
}

// wrongRows says that rows of a file are wrong.
func wrongRows(t *specform.Table) string {
	n := len(t.Problems) + t.More
	if n == 1 {
		return "The list has one problem: correct the row below, or leave it out."
	}
	return "The list has " + count(int64(n)) + " problems: correct the rows below, or leave them out."
}

// wasRead says what was read from a file.
func wasRead(t *specform.Table) string {
	text := count(int64(t.Rows)) + " rows were read"
	if t.Width > 1 {
		text += ", with cells between " + map[rune]string{',': "commas", ';': "semicolons", '\t': "tabs"}[t.Separator]
	}
	text += ", in " + t.Encoding
	if t.Header != nil {
		text += `; its first line, "` + clean(shorten(strings.Join(t.Header, ", "), 100)) + `", was taken for the names of the columns`
	}
	if t.Skipped > 0 {
		text += "; " + count(int64(t.Skipped)) + " rows with problems were left out"
	}
	return text + "."
}

// shorten returns a text with at most so many characters.
func shorten(s string, most int) string {
	if c := []rune(s); len(c) > most {
		return string(c[:most]) + "…"
	}
	return s
}
