package faultproxy

import (
	"encoding/binary"
	"fmt"
	"io"
)

// sizeMax bounds a message. PostgreSQL's own bound is 1 GiB.
const sizeMax = 64 << 20

// frame is a message in its bytes. A start has no type byte: kind is 0.
type frame struct {
	kind byte
	raw  []byte // all of it
}

// body returns what follows type and length.
func (f frame) body() []byte {
	if f.kind == 0 {
		return f.raw[4:]
	}
	return f.raw[5:]
}

// readFrame reads one message; typed says that it begins with its type.
func readFrame(r io.Reader, typed bool) (frame, error) {
	head := make([]byte, 4)
	if typed {
		head = make([]byte, 5)
	}
	if _, err := io.ReadFull(r, head); err != nil {
		return frame{}, err
	}
	f := frame{}
	if typed {
		f.kind = head[0]
	}
	size := binary.BigEndian.Uint32(head[len(head)-4:])
	if size < 4 || size > sizeMax {
		return frame{}, fmt.Errorf("read a message of type %q: it says that it has %d bytes", f.kind, size)
	}
	f.raw = make([]byte, len(head)+int(size)-4)
	copy(f.raw, head)
	if _, err := io.ReadFull(r, f.raw[len(head):]); err != nil {
		return frame{}, err
	}
	return f, nil
}

// names of messages by their type, to the server and to the client.
var (
	toServerNames = map[byte]string{
		0: "Startup", 'B': "Bind", 'C': "Close", 'd': "CopyData", 'c': "CopyDone", 'f': "CopyFail", 'D': "Describe",
		'E': "Execute", 'H': "Flush", 'F': "FunctionCall", 'P': "Parse", 'p': "Password", 'Q': "Query", 'S': "Sync", 'X': "Terminate",
	}
	toClientNames = map[byte]string{
		'R': "Authentication", 'K': "BackendKeyData", '2': "BindComplete", '3': "CloseComplete", 'C': "CommandComplete",
		'd': "CopyData", 'c': "CopyDone", 'G': "CopyInResponse", 'H': "CopyOutResponse", 'W': "CopyBothResponse",
		'D': "DataRow", 'I': "EmptyQueryResponse", 'E': "ErrorResponse", 'v': "NegotiateProtocolVersion", 'n': "NoData",
		'N': "NoticeResponse", 'A': "NotificationResponse", 't': "ParameterDescription", 'S': "ParameterStatus",
		'1': "ParseComplete", 's': "PortalSuspended", 'Z': "ReadyForQuery", 'T': "RowDescription",
	}
)

// nameOf returns a message's name, or its type byte where it has none here.
func nameOf(d Direction, kind byte) string {
	names := toClientNames
	if d == ToServer {
		names = toServerNames
	}
	if name, ok := names[kind]; ok {
		return name
	}
	return fmt.Sprintf("%q", kind)
}

// ends reports whether a server's message is the last that answers a client's.
func ends(asked, answer byte) bool {
	switch asked {
	case 'P':
		return answer == '1'
	case 'B':
		return answer == '2'
	case 'D':
		return answer == 'T' || answer == 'n'
	case 'E':
		return answer == 'C' || answer == 'I' || answer == 's'
	case 'C':
		return answer == '3'
	case 'F':
		return answer == 'V'
	default: // a start, Query, Sync
		return answer == 'Z'
	}
}

// answered reports whether a client's message has an answer of its own.
func answered(kind byte) bool {
	switch kind {
	case 0, 'P', 'B', 'D', 'E', 'C', 'F', 'Q', 'S':
		return true
	default:
		return false
	}
}
