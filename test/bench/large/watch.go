// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned/scheme"
	"kubi.zone/kubizone/test/bench/figures"
)

// each is how many watches share a connection; a server allows 250.
const each = 100

// stream is a watch of the Records of the zone, after a revision, as octets: to decode events is the client's time.
func (s *server) stream(ctx context.Context, client rest.Interface, revision string) (io.ReadCloser, error) {
	return client.Get().Namespace(tenant).Resource("records").VersionedParams(&metav1.ListOptions{Watch: true, ResourceVersion: revision}, metav1.ParameterCodec).Stream(ctx)
}

// connection is a client with a connection of its own; dial may make it one with small buffers.
func (s *server) connection(dial func(ctx context.Context, network, address string) (net.Conn, error)) (rest.Interface, error) {
	secure, err := rest.TLSConfigFor(s.config)
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(s.config)
	config.TLSClientConfig = rest.TLSClientConfig{}
	transport := &http.Transport{TLSClientConfig: secure, DialContext: dial, ForceAttemptHTTP2: dial == nil}
	if dial != nil {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{} // HTTP/1.1: what is not read stays with the server
	}
	config.Transport = transport
	config.ContentType, config.AcceptContentTypes = "application/json", "application/json"
	group := s.client.KubizoneV1alpha1().RESTClient().APIVersion()
	config.GroupVersion, config.APIPath = &group, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(config)
}

// watch opens watches on the zone's Records and measures what they hold, how long an event takes to reach all of
// them, and what it costs; then what becomes of readers that do not read.
func (p *plan) watch(ctx context.Context, r *figures.Results, n int, s *server) error {
	if p.Watchers == 0 {
		return nil
	}
	revision, err := s.revision(ctx)
	if err != nil {
		return err
	}
	before, err := s.memory(ctx)
	if err != nil {
		return err
	}
	ops := s.operations(fmt.Sprintf("seen%d", n), big)
	if err := func() error {
		watching, cancel := context.WithCancel(ctx)
		var all sync.WaitGroup
		defer all.Wait()
		defer cancel()
		var seen atomic.Int64
		reached := make(chan struct{}, 1000)
		for from := 0; from < p.Watchers; from += each {
			client, err := s.connection(nil)
			if err != nil {
				return err
			}
			for range min(each, p.Watchers-from) {
				events, err := s.stream(watching, client, revision)
				if err != nil {
					return err
				}
				all.Go(func() {
					defer events.Close()
					for buffer := make([]byte, 1<<14); ; {
						n, err := events.Read(buffer)
						for range bytes.Count(buffer[:n], []byte{'\n'}) {
							if seen.Add(1)%int64(p.Watchers) == 0 {
								reached <- struct{}{}
							}
						}
						if err != nil {
							return
						}
					}
				})
			}
		}
		open, err := s.memory(ctx)
		if err != nil {
			return err
		}
		r.Add(at(n, "a watcher"), "kB", max(0, open.live-before.live)/float64(p.Watchers)/1e3)
		const events = 50
		var took []time.Duration
		cpu, _, err := s.spent(ctx, 2*events*p.Watchers, func() error {
			for _, op := range ops {
				for i := range events {
					began := time.Now()
					if err := op.do(ctx, i); err != nil {
						return err
					}
					select {
					case <-reached:
						took = append(took, time.Since(began))
					case <-time.After(time.Minute):
						return fmt.Errorf("within a minute %d events were read where %d watchers each get %d", seen.Load(), p.Watchers, i+1)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		r.Add(at(n, "event to all watchers"), "ms", figures.Quantile(took, 0.5))
		r.Add(at(n, "an event to a watcher CPU"), "µs", cpu)
		return nil
	}(); err != nil {
		return err
	}
	return p.slow(ctx, r, n, s)
}

// revision is the present one.
func (s *server) revision(ctx context.Context) (string, error) {
	list, err := s.client.KubizoneV1alpha1().Records(owner).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// cutCounter of the server's metrics counts those whose watch was ended because they did not keep up.
const cutCounter = `apiserver_terminated_watchers_total{group="kubi.zone",resource="records"}`

// slow opens watches, reads none of them, and writes until the server has cut all of them. Then they are read: what
// comes is a beginning of what happened, without a gap, and a watch that goes on from there gets the rest, or 410 if
// it is too long ago.
func (p *plan) slow(ctx context.Context, r *figures.Results, n int, s *server) error {
	if p.SlowReaders == 0 || n != p.Sizes[0] { // what they do does not depend on the size of the zone
		return nil
	}
	revision, err := s.revision(ctx)
	if err != nil {
		return err
	}
	var streams []io.ReadCloser
	var sockets []*net.TCPConn
	client, err := s.connection(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		sockets = append(sockets, conn.(*net.TCPConn))
		return conn, sockets[len(sockets)-1].SetReadBuffer(4 << 10)
	})
	if err != nil {
		return err
	}
	for range p.SlowReaders {
		events, err := s.stream(ctx, client, revision)
		if err != nil {
			return err
		}
		defer events.Close()
		streams = append(streams, events)
	}
	cutBefore, err := s.counter(ctx, cutCounter)
	if err != nil {
		return err
	}
	before, err := s.memory(ctx)
	if err != nil {
		return err
	}
	written, most, ops := 0, 0.0, s.operations(fmt.Sprintf("slow%d", n), big)
	for {
		for _, op := range ops {
			if _, _, err := figures.Callers(ctx, callers, 500, op.do); err != nil {
				return err
			}
			written += 500
		}
		now, err := s.memory(ctx)
		if err != nil {
			return err
		}
		most = max(most, now.live-before.live)
		cut, err := s.counter(ctx, cutCounter)
		if err != nil {
			return err
		}
		if cut-cutBefore >= float64(p.SlowReaders) {
			break
		}
		if written > 100000 {
			return fmt.Errorf("%.0f of %d readers that do not read were cut after %d events", cut-cutBefore, p.SlowReaders, written)
		}
	}
	r.Add(at(n, "slow readers hold"), "MB", most/1e6)
	r.Add(at(n, "slow readers cut after"), "events", float64(written))
	told := 0
	var mutex sync.Mutex
	// All at once: a connection that began with a small window stays slow.
	_, _, err = figures.Callers(ctx, len(streams), len(streams), func(ctx context.Context, i int) error {
		if err := sockets[i].SetReadBuffer(4 << 20); err != nil { // now it reads as others do
			return err
		}
		got, last, err := wholeEvents(streams[i], revision)
		if err != nil {
			return err
		}
		if got >= written {
			return fmt.Errorf("a reader that was cut has all %d events", got)
		}
		gone, err := s.resume(ctx, last, written-got)
		if err != nil {
			return fmt.Errorf("a slow reader goes on after %d of %d events: %w", got, written, err)
		}
		if gone {
			mutex.Lock()
			told++
			mutex.Unlock()
		}
		return nil
	})
	r.Add(at(n, "slow readers told 410"), "", float64(told))
	return err
}

// wholeEvents reads a watch to its end: how many events, and the revision of the last.
func wholeEvents(from io.Reader, revision string) (got int, last string, err error) {
	last = revision
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Type   string
			Object struct{ Metadata metav1.ObjectMeta }
		}
		if json.Unmarshal(lines.Bytes(), &event) != nil {
			break // cut within an event
		}
		if event.Type == "ERROR" {
			return got, last, fmt.Errorf("the watch ended with %s", lines.Bytes())
		}
		got, last = got+1, event.Object.Metadata.ResourceVersion
	}
	return got, last, nil
}

// resume goes on after a revision: the events that are missing come, or the answer is 410.
func (s *server) resume(ctx context.Context, revision string, missing int) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	events, err := s.stream(ctx, s.client.KubizoneV1alpha1().RESTClient(), revision)
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer events.Close()
	lines := bufio.NewReader(events)
	for i := range missing {
		line, err := lines.ReadString('\n')
		if err != nil {
			return false, errors.Join(fmt.Errorf("%d events of %d that are missing", i, missing), err)
		}
		if strings.Contains(line, `"ERROR"`) {
			if i == 0 && strings.Contains(line, `"code":410`) {
				return true, nil
			}
			return false, errors.New(line)
		}
	}
	return false, nil
}

// counter is the value of a line of the server's metrics; 0 where there is none yet.
func (s *server) counter(ctx context.Context, name string) (float64, error) {
	text, err := s.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			var value float64
			_, err := fmt.Sscan(rest, &value)
			return value, err
		}
	}
	return 0, nil
}
