package taskui

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// partsView are children of a task: buckets, ranges, stages and others.
type partsView struct {
	Task    *taskkit.Task
	Name    string // what they are
	Counts  *taskkit.ChildCounts
	Parts   []part
	Map     heatMap
	Next    string // the path of the next page
	Path    string // of the page of all
	Buckets string // of the file of the report of buckets; "": it has none, or the person is no operator
	Trouble []part // those that have failed
}

// Title implements titled.
func (v *partsView) Title() string { return v.Name + " of " + v.Task.Kind }

// part is a child.
type part struct {
	*taskkit.Child

	Name, Status, Class, Code, Took string
	Bar                             bar
	Path                            string
}

// heatMap is a picture with a cell for each part, in the order of the parts.
type heatMap struct {
	Width, Height int
	Cells         []heatCell
}

type heatCell struct {
	X, Y        int
	Class, Text string
}

const (
	mapColumns = 50
	cellSize   = 12
)

// parts reads the page of the parts of a task.
func parts(r *request) (any, error) {
	t, err := r.task(r.Context())
	if err != nil {
		return nil, err
	}
	after := uuid.Nil
	if text := r.URL.Query().Get("after"); text != "" {
		if after, err = uuid.Parse(text); err != nil {
			return nil, errNoPage
		}
	}
	if t.Children == nil {
		return nil, &problem{status: 404, title: "The task has no parts", remedy: "Its page has everything about it."}
	}
	return r.readParts(r.Context(), t, after, shownParts)
}

// readParts reads a page of the children of a task.
func (r *request) readParts(ctx context.Context, t *taskkit.Task, after taskkit.ID, most int) (*partsView, error) {
	found, err := r.d.client.Children(ctx, t.ID, after, most)
	if err != nil {
		return nil, err
	}
	v := &partsView{Task: t, Name: "Parts", Counts: t.Children, Path: taskPath(t.ID) + "/parts"}
	for _, c := range found {
		p := part{Child: c, Status: childStatus(c), Bar: newBar(c.Progress), Path: taskPath(c.ID)}
		p.Class = strings.ReplaceAll(p.Status, " ", "-")
		switch {
		case c.Stage != "":
			p.Name, v.Name = "stage "+c.Stage, "Stages"
		case c.First > 0:
			p.Name, v.Name = fmt.Sprintf("items %s to %s", count(c.First), count(c.Last)), "Ranges"
		case c.Bucket > 0:
			p.Name, v.Name = fmt.Sprintf("bucket %d", c.Bucket), "Buckets"
			if s := c.Segment.String(); s != "" && r.operator() {
				p.Name += ": " + s
			}
			if r.operator() {
				v.Buckets = taskPath(t.ID) + "/buckets.csv"
			}
		default:
			p.Name = c.Kind + " " + short(c.ID)
		}
		p.Name = clean(p.Name)
		if c.Started != nil && c.Ended != nil {
			p.Took = duration(c.Ended.Sub(*c.Started))
		}
		if p.Status == "failed" || p.Status == "not run" {
			p.Code, _ = splitDetail(c.StatusDetail)
			v.Trouble = append(v.Trouble, p)
		}
		v.Parts = append(v.Parts, p)
	}
	if len(found) == most {
		v.Next = v.Path + "?" + url.Values{"after": {found[most-1].ID.String()}}.Encode()
	}
	v.Map = newHeatMap(v.Parts)
	return v, nil
}

// childStatus returns the status of a child in a word.
func childStatus(c *taskkit.Child) string {
	return statusText(&taskkit.Task{Status: c.Status, Partial: c.Partial})
}

// newHeatMap returns the picture of parts.
func newHeatMap(all []part) heatMap {
	m := heatMap{Width: min(len(all), mapColumns) * cellSize, Height: (len(all) + mapColumns - 1) / mapColumns * cellSize}
	for i, p := range all {
		m.Cells = append(m.Cells, heatCell{i % mapColumns * cellSize, i / mapColumns * cellSize, p.Class, p.Name + ": " + p.Status + ", " + p.Bar.Text})
	}
	return m
}

// bucketsFile writes the report of the buckets of a task as CSV.
func bucketsFile(r *request) error {
	t, err := r.taskFor(r.Context(), taskhttp.OpItems)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := r.d.client.WriteBuckets(r.Context(), t.ID, &out); err != nil {
		return err
	}
	r.asFile("buckets-" + short(t.ID) + ".csv")
	_, _ = out.WriteTo(r.w)
	return nil
}
