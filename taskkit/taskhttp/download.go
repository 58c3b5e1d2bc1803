package taskhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"taskkit.dev/taskkit"
)

// Download fetches the result of a job that is done and writes it as it is sent, which is for results
// that are files, see [FileResults]. A download goes on after lost connections, where it was, until
// ctx ends. It returns the name of the file, "" if the result is none, and how many bytes were
// written; after an error too. Errors are the errors of [Fetch], and one of w ends the download. It is an
// error when the file has changed before the rest of it was sent.
func (c *Client) Download(ctx context.Context, id taskkit.ID, w io.Writer) (name string, n int64, err error) {
	d := &download{c: c, call: call{method: http.MethodGet, path: c.path(id, "/result"), again: true}, w: w}
	err = c.repeat(ctx, d.call, func() error { return d.once(ctx) })
	return d.name, d.n, err
}

// download is a result that is being fetched.
type download struct {
	c    *Client
	call call
	w    io.Writer

	name string
	tag  string // of the file
	n    int64  // bytes written
}

// once fetches the rest.
func (d *download) once(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A connection that sends nothing is lost. What is sent, however long that takes, is not.
	idle := time.AfterFunc(d.c.wait()+maxBackoff, func() { cancel(errSilent) })
	defer idle.Stop()
	req, err := d.c.request(ctx, d.call)
	if err != nil {
		return err
	}
	req.Header.Set("Accept-Encoding", "identity") // ranges are of the file as it is
	if d.n > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.n))
		req.Header.Set("If-Range", d.tag)
	}
	resp, err := cmp.Or(d.c.HTTP, http.DefaultClient).Do(req)
	if err != nil {
		return &lostError{fmt.Errorf("taskhttp: %w", err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return &lostError{fmt.Errorf("taskhttp: read the answer to %s %s: %w", d.call.method, d.call.path, err)}
		}
		if resp.StatusCode == http.StatusRequestedRangeNotSatisfiable && d.n > 0 && resp.Header.Get("Content-Range") == fmt.Sprintf("bytes */%d", d.n) {
			return nil // the connection was lost after the last byte
		}
		return errorOf(resp, body)
	}
	if d.n > 0 && resp.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("taskhttp: the rest of %s after %d bytes cannot be had, because its file has changed or it is none: fetch it again", d.call.path, d.n)
	}
	d.tag = resp.Header.Get("ETag")
	if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
		d.name = params["filename"]
	}
	for buf := make([]byte, 64<<10); ; {
		idle.Reset(d.c.wait() + maxBackoff)
		n, readErr := resp.Body.Read(buf)
		written, err := d.w.Write(buf[:n])
		d.n += int64(written)
		switch {
		case err != nil:
			return fmt.Errorf("taskhttp: write a result: %w", err)
		case errors.Is(readErr, io.EOF):
			return nil
		case readErr != nil:
			return &lostError{fmt.Errorf("taskhttp: read the answer to %s %s: %w", d.call.method, d.call.path, readErr)}
		}
	}
}

// errSilent ends a download.
var errSilent = errors.New("the server has sent nothing for too long")
