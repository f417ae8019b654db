// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

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

// A request has a seat of priority and fairness while its body comes and while its answer goes, and the generic server
// waits for both without end, beyond the request's own time: its 504 waits for the write that does not return. A few
// hundred requests of one tenant, bodies that never come or HTTP/2 windows that stay closed, took all seats, and
// all other users got 429.
const (
	// clientTimeout is how long a client may send or read nothing.
	clientTimeout = 5 * time.Second
	// leastRate is how many octets a second it sends or reads, after that.
	leastRate = 64 << 10
)

// pace is how fast the octets of one direction of a request pass: the time counts in which the client is waited for.
type pace struct {
	octets int
	waited time.Duration
	since  time.Time
}

// begin says when the next octets must have passed.
func (p *pace) begin() (deadline time.Time) {
	p.since = time.Now()
	return p.since.Add(min(clientTimeout, clientTimeout+time.Duration(p.octets)*time.Second/leastRate-p.waited))
}

func (p *pace) end(octets int) {
	p.octets += octets
	p.waited += time.Since(p.since)
}

// endSlowClients ends a request whose client neither sends nor reads. Watches and streams hold no seat, and end
// readers that stand still by themselves. It stands outside of all other filters: an answer of theirs waits as well.
func endSlowClients(handler http.Handler, config *genericapiserver.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, err := config.RequestInfoResolver.NewRequestInfo(r); err != nil || config.LongRunningFunc(r, info) {
			handler.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		body := &pacedBody{ReadCloser: r.Body, control: control}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = body
		}
		defer body.leave()
		handler.ServeHTTP(responsewriter.WrapForHTTP1Or2(&pacedWriter{ResponseWriter: w, control: control}), r)
	})
}

// pacedBody has a deadline for each read. It has none in between: HTTP/1 would take the connection for a broken one
// while the request is carried out.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController

	pace pace
	mu   sync.Mutex
	left bool // the request is over, though its handler may still read: control is not to be used
}

func (b *pacedBody) Read(into []byte) (int, error) {
	b.setDeadline(b.pace.begin())
	n, err := b.ReadCloser.Read(into)
	b.pace.end(n)
	if errors.Is(err, os.ErrDeadlineExceeded) { // The deadline stays: what is left of the body is not waited for either.
		slow := apierrors.NewTimeoutError(fmt.Sprintf("%d octets of the request's body came, and then none for too long: send it again, at %d KiB a second or more", b.pace.octets, leastRate>>10), 0)
		slow.ErrStatus.Code = http.StatusRequestTimeout
		return n, slow
	}
	b.setDeadline(time.Time{})
	return n, err
}

func (b *pacedBody) setDeadline(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left {
		_ = b.control.SetReadDeadline(at) // a recorder in a test has none
	}
}

func (b *pacedBody) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
}

// pacedWriter has a deadline for each write. It has none in between: HTTP/2 would reset the stream.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
}

func (w *pacedWriter) Write(piece []byte) (int, error) {
	_ = w.control.SetWriteDeadline(w.pace.begin())
	n, err := w.ResponseWriter.Write(piece)
	w.pace.end(n)
	_ = w.control.SetWriteDeadline(time.Time{})
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *pacedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
