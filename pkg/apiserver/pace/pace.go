// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// clientTimeout bounds a stall. Other requests wait three times as long for a seat of priority and fairness.
const clientTimeout = 5 * time.Second

// leastRate is in octets a second, after clientTimeout of waiting.
const leastRate = 64 << 10

type pace struct {
	octets int
	waited time.Duration
	since  time.Time
}

func (p *pace) begin() (deadline time.Time) {
	p.since = time.Now()
	return p.since.Add(min(clientTimeout, clientTimeout+time.Duration(p.octets)*time.Second/leastRate-p.waited))
}

func (p *pace) end(octets int) {
	p.octets += octets
	p.waited += time.Since(p.since)
}

// EndSlowClients adds a deadline to each read of a request and each write of a response, because a stalled client would
// keep its seat of priority and fairness. Writes of long-running requests, such as watches, and of filters outside
// handler have no deadline.
func EndSlowClients(handler http.Handler, config *genericapiserver.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// Otherwise HTTP/1 reads the rest of a body, without a deadline, before a response.
		_ = control.EnableFullDuplex() // always on in HTTP/2
		answer := &pacedWriter{ResponseWriter: w, control: control}
		if r.Body != nil && r.Body != http.NoBody {
			body := &pacedBody{ReadCloser: r.Body, control: control}
			defer body.endRequest()
			r = r.WithContext(r.Context()) // a copy, as net/http inspects the original Body for 100 Continue
			r.Body = body
			if r.ProtoMajor == 1 {
				answer.unread = body
			}
		}
		if info, err := config.RequestInfoResolver.NewRequestInfo(r); err != nil || config.LongRunningFunc(r, info) {
			answer.beginAnswer()
			handler.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(answer), r)
		answer.beginAnswer()
	})
}

// pacedBody is a request's body with a deadline for each read. It removes the deadline after the read. If a deadline
// passed while the handler runs, HTTP/1 would treat the connection as broken.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController

	pace      pace
	mu        sync.Mutex
	fullyRead bool
	// ended is true after the request. Its handler may still run, and must not use control any more.
	ended bool
}

// Read reads with a deadline, and answers 408 to a client that sends too slowly.
func (b *pacedBody) Read(into []byte) (int, error) {
	b.setDeadline(b.pace.begin())
	n, err := b.ReadCloser.Read(into)
	b.pace.end(n)
	if errors.Is(err, os.ErrDeadlineExceeded) { // keep the deadline, or net/http would wait for the rest
		slow := apierrors.NewTimeoutError(fmt.Sprintf("%d octets of the request's body came, and then none for too long: send it again, "+
			"at %d KiB a second or more", b.pace.octets, leastRate>>10), 0)
		slow.ErrStatus.Code = http.StatusRequestTimeout
		return n, slow
	}
	b.setDeadline(time.Time{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fullyRead = err == io.EOF
	return n, err
}

func (b *pacedBody) setDeadline(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		_ = b.control.SetReadDeadline(at) // a recorder in a test has none
	}
}

func (b *pacedBody) endRequest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	if !b.fullyRead {
		_ = b.control.SetReadDeadline(time.Now().Add(clientTimeout))
	}
}

// pacedWriter is a response with a deadline for each write. It removes the deadline after the write. If a deadline
// passed between two writes, HTTP/2 would reset the stream.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	// unread is the body of an HTTP/1 request until the response begins, for beginAnswer. Otherwise nil.
	unread *pacedBody
}

// beginAnswer closes the connection after this response if the body is not fully read. Otherwise net/http would parse
// the rest as a request.
func (w *pacedWriter) beginAnswer() {
	if body := w.unread; body != nil {
		body.mu.Lock()
		defer body.mu.Unlock()
		if w.unread = nil; !body.fullyRead {
			w.Header().Set("Connection", "close")
		}
	}
}

func (w *pacedWriter) WriteHeader(code int) {
	w.beginAnswer()
	w.ResponseWriter.WriteHeader(code)
}

// Write writes in pieces of leastRate octets, each with a deadline: a large piece may take long although the client
// reads fast enough.
func (w *pacedWriter) Write(piece []byte) (written int, err error) {
	w.beginAnswer()
	for err == nil && written < len(piece) {
		_ = w.control.SetWriteDeadline(w.pace.begin())
		var n int
		n, err = w.ResponseWriter.Write(piece[written:min(len(piece), written+leastRate)])
		w.pace.end(n)
		written += n
	}
	_ = w.control.SetWriteDeadline(time.Time{})
	return written, err
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
