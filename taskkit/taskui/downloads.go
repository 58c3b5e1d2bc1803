package taskui

import "taskkit.dev/taskkit/taskhttp"

// A download is a file that is written while it is read.
type download struct {
	path string
	op   taskhttp.Operation
	// write sends the headers and the file. An error before the first byte is shown as a page; one after it ends the connection.
	write func(r *request) error
}

// downloads returns all downloads.
func downloads() []download {
	return []download{
		{"task/{id}/items.csv", taskhttp.OpItems, itemsFile},
		{"task/{id}/buckets.csv", taskhttp.OpExplainJobs, bucketsFile}, // it shows segments, as the page does for operators only
	}
}

// download answers with a file.
func (d *dashboard) download(r *request, f download) error {
	if !r.allowedAction(r.Context(), f.op) {
		return errForbidden
	}
	return f.write(r)
}
