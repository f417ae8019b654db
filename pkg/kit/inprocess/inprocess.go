// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

type Transport struct{ Handler http.Handler }

var _ http.RoundTripper = Transport{}

// RoundTrip calls the handler without a network, and waits until the handler returns. So the handler has to return when
// the request's context ends.
func (t Transport) RoundTrip(request *http.Request) (response *http.Response, err error) {
	ctx, release := Detach(request.Context())
	defer release()
	served := request.Clone(ctx) // a server owns its request
	served.RequestURI, served.RemoteAddr = request.URL.RequestURI(), "127.0.0.1:0"
	served.Proto, served.ProtoMajor, served.ProtoMinor = "HTTP/2.0", 2, 0
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer served.Body.Close()
	defer func() {
		// net/http would log the panic and end the connection.
		if why := recover(); why != nil {
			response, err = nil, fmt.Errorf("%s %s: the server has aborted the request: %v", request.Method, request.URL.Path, why)
		}
	}()
	w := NewRecorder()
	t.Handler.ServeHTTP(w, served)
	w.WriteHeader(http.StatusOK) // unless the handler has written a status
	status := fmt.Sprintf("%d %s", w.Code, http.StatusText(w.Code))
	return &http.Response{Status: status, StatusCode: w.Code, Proto: served.Proto, ProtoMajor: served.ProtoMajor,
		Header: w.Header(), Body: io.NopCloser(&w.Body), ContentLength: int64(w.Body.Len()), Request: request}, nil
}

// Detach returns a context that ends with ctx, without its values.
func Detach(ctx context.Context) (detached context.Context, release func()) {
	detached, cancel := context.WithCancelCause(context.Background())
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	release = func() { stop(); cancel(nil) }
	if end, ok := ctx.Deadline(); ok {
		var timeout context.CancelFunc
		detached, timeout = context.WithDeadline(detached, end)
		release = func() { stop(); timeout(); cancel(nil) }
	}
	return detached, release
}

type Recorder struct {
	Code int // 0 before a response
	Body bytes.Buffer

	header http.Header
}

func NewRecorder() *Recorder { return &Recorder{header: http.Header{}} }

func (r *Recorder) Header() http.Header { return r.header }

func (r *Recorder) WriteHeader(code int) {
	if r.Code == 0 {
		r.Code = code
	}
}

func (r *Recorder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.Body.Write(data)
}
