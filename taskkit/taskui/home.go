package taskui

import (
	"net/url"

	"taskkit.dev/taskkit"
)

// homeView is the data of the page Home.
type homeView struct {
	Figures []figure
}

// figure is a number that leads to its tasks.
type figure struct{ Value, Text, Path string }

// home reads the page Home.
func home(r *request) (any, error) {
	counts, exact, err := r.d.client.Counts(r.Context(), "")
	if err != nil {
		return nil, err
	}
	running := counts[taskkit.StatusExecuting] + counts[taskkit.StatusScheduling]
	return homeView{Figures: []figure{
		{atLeast(running, exact), "running", listPath("status:running")},
		{atLeast(counts[taskkit.StatusQueued], exact), "queued", listPath("status:queued")},
	}}, nil
}

// atLeast returns a count, or that there are at least so many.
func atLeast(n int64, exact bool) string {
	if exact {
		return count(n)
	}
	return count(n) + "+"
}

// listPath returns the path of the page Tasks with a search. A colon is escaped: html/template would take what is before it for a scheme.
func listPath(query string) string { return "list?" + url.Values{"q": {query}}.Encode() }
