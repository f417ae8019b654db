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

// A request has a seat of priority and fairness while its body comes and while its answer goes, and the generic server
// waits for both without end, beyond the request's own time: its 504 waits for the write that does not return. A few
// hundred requests of one tenant, bodies that never come or HTTP/2 windows that stay closed, took all seats, and
// all other users got 429.

// clientTimeout is how long a client may send or read nothing: a third of the time that a request of another user waits
// for a seat.
const clientTimeout = 5 * time.Second

// leastRate is how many octets a second it sends or reads, after that.
const leastRate = 64 << 10

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

// EndSlowClients ends a request whose client neither sends nor reads. Streams hold no seat, nor do watches once their
// initial events wait for their reader, and both end readers that stand still by themselves. It stands outside of all
// other filters: an answer of theirs waits as well.
func EndSlowClients(handler http.Handler, config *genericapiserver.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		// Else HTTP/1 reads what is left of a body before it sends an answer, without a deadline.
		_ = control.EnableFullDuplex() // HTTP/2 is so always
		answer := &pacedWriter{ResponseWriter: w, control: control}
		if r.Body != nil && r.Body != http.NoBody {
			body := &pacedBody{ReadCloser: r.Body, control: control}
			defer body.leave()
			r = r.WithContext(r.Context()) // net/http looks at the Body of the request that it made, for 100 Continue
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

// pacedBody has a deadline for each read. It has none in between: HTTP/1 would take the connection for a broken one
// while the request is carried out.
type pacedBody struct {
	io.ReadCloser
	control *http.ResponseController

	pace pace
	mu   sync.Mutex
	over bool // the body has ended
	left bool // the request is over, though its handler may still read: control is not to be used
}

func (b *pacedBody) Read(into []byte) (int, error) {
	b.setDeadline(b.pace.begin())
	n, err := b.ReadCloser.Read(into)
	b.pace.end(n)
	if errors.Is(err, os.ErrDeadlineExceeded) { // The deadline stays: what is left of the body is not waited for either.
		slow := apierrors.NewTimeoutError(fmt.Sprintf("%d octets of the request's body came, and then none for too long: send it again, "+
			"at %d KiB a second or more", b.pace.octets, leastRate>>10), 0)
		slow.ErrStatus.Code = http.StatusRequestTimeout
		return n, slow
	}
	b.setDeadline(time.Time{})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = err == io.EOF
	return n, err
}

func (b *pacedBody) setDeadline(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.left {
		_ = b.control.SetReadDeadline(at) // a recorder in a test has none
	}
}

// leave sets when the rest of the body must have come, which net/http reads then.
func (b *pacedBody) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = true
	if !b.over {
		_ = b.control.SetReadDeadline(time.Now().Add(clientTimeout))
	}
}

// pacedWriter has a deadline for each write. It has none in between: HTTP/2 would reset the stream.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	pace    pace
	unread  *pacedBody // of HTTP/1, until the answer begins
}

// beginAnswer lets the connection end with this answer where the body has not ended: what comes of it later must not
// be read as another request.
func (w *pacedWriter) beginAnswer() {
	if body := w.unread; body != nil {
		body.mu.Lock()
		defer body.mu.Unlock()
		if w.unread = nil; !body.over {
			w.Header().Set("Connection", "close")
		}
	}
}

func (w *pacedWriter) WriteHeader(code int) {
	w.beginAnswer()
	w.ResponseWriter.WriteHeader(code)
}

// Write writes parts, each with a time of its own: a reader of a long piece has as long as one of many short ones.
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
