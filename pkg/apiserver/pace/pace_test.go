// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/filters"

	"kubi.zone/kubizone/test/must"
)

// Without octets from the client, a request and an unread answer end. Slow senders, readers and handlers complete.
func TestEndSlowClients(t *testing.T) {
	var ended atomic.Int32
	slow := make(chan struct{})
	finish := sync.OnceFunc(func() { close(slow) })
	config := &genericapiserver.Config{
		RequestInfoResolver: &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()},
		LongRunningFunc:     filters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString()),
	}
	handler := EndSlowClients(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer ended.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		}
		switch r.URL.Path {
		case "/much":
			for piece := bytes.Repeat([]byte("x"), 64<<10); err == nil; {
				_, err = w.Write(piece)
			}
		case "/slow":
			fmt.Fprintln(w, "first")
			w.(http.Flusher).Flush()
			<-slow
			fmt.Fprintln(w, "then", len(body))
		}
	}), config)
	// The handler outlasts any client's limit, then writes again.
	answered := make(chan string, 2)
	for _, two := range []bool{false, true} {
		server := httptest.NewUnstartedServer(handler)
		server.EnableHTTP2 = two
		server.StartTLS()
		t.Cleanup(server.Close)
		t.Cleanup(finish)
		client := server.Client()
		go func() {
			answer, err := client.Post(server.URL+"/slow", "text/plain", strings.NewReader("body"))
			if err != nil {
				answered <- err.Error()
				return
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			answered <- fmt.Sprint(string(text), err)
		}()
		reader, writer := io.Pipe()
		t.Cleanup(func() { writer.Close() })
		go func() {
			if answer, err := client.Post(server.URL+"/body", "text/plain", reader); err == nil {
				answer.Body.Close()
			}
		}()
		answer := must.Get(client.Get(server.URL + "/much"))(t)
		t.Cleanup(func() { answer.Body.Close() })
	}
	for end := time.Now().Add(time.Minute); ended.Load() < 4; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d of 4 requests of clients that do nothing have ended", ended.Load())
		}
	}
	finish()
	for range 2 {
		if text := <-answered; text != "first\nthen 4\n<nil>" {
			t.Errorf("a slow handler: %s", text)
		}
	}
}

// A client that sends or reads too slowly loses its connection. The time that it may take grows with the octets already
// moved, and the time in which the server's handler works does not count. Octets that went into buffers at once buy no
// idle time later.
func TestPace(t *testing.T) {
	p := pace{octets: 1000 * leastRate}
	if left := time.Until(p.begin()); left > clientTimeout {
		t.Errorf("%s for the next octets", left)
	}
	p = pace{octets: 10 * leastRate, waited: clientTimeout + 7*time.Second}
	if left := time.Until(p.begin()); left > 3*time.Second || left < time.Second {
		t.Errorf("%s are left of three", left)
	}
	p.since = p.since.Add(-time.Second)
	if p.end(leastRate); p.octets != 11*leastRate || p.waited < clientTimeout+8*time.Second {
		t.Errorf("%+v", p)
	}
}

// A client of HTTP/1 may announce a body and never send it. The server sends its answer without that body, also for a
// watch and for chunked bodies, and closes the connection. With Expect: 100-continue the client gets the final answer,
// without a 100 before.
func TestEndSlowClients_ofHTTP1(t *testing.T) {
	config := &genericapiserver.Config{
		RequestInfoResolver: &request.RequestInfoFactory{APIPrefixes: sets.NewString("apis"), GrouplessAPIPrefixes: sets.NewString()},
		LongRunningFunc:     func(r *http.Request, _ *request.RequestInfo) bool { return r.URL.Path == "/watch" },
	}
	server := httptest.NewServer(EndSlowClients(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "answer")
		w.(http.Flusher).Flush()
	}), config))
	t.Cleanup(server.Close)
	for _, test := range []struct{ what, head, path string }{
		{"a body that does not come", "Content-Length: 10\r\n", "/get"},
		{"one of a watch", "Content-Length: 10\r\n", "/watch"},
		{"one without a length", "Transfer-Encoding: chunked\r\n", "/get"},
		{"one that waits", "Content-Length: 10\r\nExpect: 100-continue\r\n", "/get"},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			connection := must.Get(net.Dial("tcp", server.Listener.Addr().String()))(t)
			defer connection.Close()
			fmt.Fprintf(connection, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", test.path, test.head)
			_ = connection.SetReadDeadline(time.Now().Add(time.Minute))
			text, err := io.ReadAll(connection)
			if err != nil || !strings.HasPrefix(string(text), "HTTP/1.1 200 OK\r\n") || !strings.Contains(string(text), "answer") ||
				!strings.Contains(string(text), "Connection: close") {
				t.Errorf("%s: %q %v", test.what, text, err)
			}
		})
	}
}

// A long write gets the time of all octets.
func TestPacedWriter_writesParts(t *testing.T) {
	recorder := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	writer := &pacedWriter{ResponseWriter: recorder, control: http.NewResponseController(recorder)}
	if n, err := writer.Write(make([]byte, 10*leastRate+1)); n != 10*leastRate+1 || err != nil || recorder.Body.Len() != n {
		t.Error(n, err)
	}
	if recorder.set != 11 {
		t.Errorf("%d deadlines for ten parts and an octet", recorder.set)
	}
}

type deadlines struct {
	*httptest.ResponseRecorder
	set int
}

func (d *deadlines) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		d.set++
	}
	return nil
}
