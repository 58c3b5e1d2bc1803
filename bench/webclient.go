package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// webClient makes requests on one connection. It does little more than a load generator in C, so that
// mostly the server is measured.
type webClient struct {
	conn net.Conn
	in   *bufio.Reader
}

func dialWeb(ctx context.Context, address string) (*webClient, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("reach a process that serves jobs: %w", err)
	}
	return &webClient{conn, bufio.NewReaderSize(conn, 512)}, nil
}

// webRequest is a request of a person without further headers.
func webRequest(method, path, person, body string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: bench\r\nPerson: %s\r\n", method, path, person)
	if body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return []byte(b.String() + "\r\n" + body)
}

// do sends a request and returns the status and the body of its answer, which must have a Content-Length.
func (c *webClient) do(request []byte) (status int, body []byte, err error) {
	if err := c.send(request); err != nil {
		return 0, nil, err
	}
	return c.receive()
}

func (c *webClient) send(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	return nil
}

func (c *webClient) receive() (status int, body []byte, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, fmt.Errorf("read an answer: %w", err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		switch {
		case first:
			if status, err = strconv.Atoi(text[len("HTTP/1.1 "):][:3]); err != nil {
				return 0, nil, fmt.Errorf("read the answer %q: %w", text, err)
			}
			continue
		case text != "":
			if name, value, _ := strings.Cut(text, ": "); strings.EqualFold(name, "Content-Length") {
				if length, err = strconv.Atoi(value); err != nil {
					return 0, nil, fmt.Errorf("read the answer's length %q: %w", value, err)
				}
			}
			continue
		}
		break
	}
	if length < 0 && status == 204 {
		return status, nil, nil
	}
	if length < 0 {
		return 0, nil, errors.New("an answer has no Content-Length")
	}
	body = make([]byte, length)
	_, err = io.ReadFull(c.in, body)
	return status, body, err
}

func (c *webClient) close() { _ = c.conn.Close() }
