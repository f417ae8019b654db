// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/law/content"
	stored "kubi.zone/kubizone/pkg/ledger/history"
	"kubi.zone/kubizone/pkg/registry/zone"
)

const (
	maxQueued   = 8 << 20
	maxSent     = 1000
	sendTimeout = 10 * time.Second
	retryAfter  = 5 * time.Second
	flushFor    = 3 * time.Second
)

type Config struct {
	// Retention applies to zones without historyRetention. Nil means 168h.
	Retention *time.Duration
	// Target is the file or HTTP receiver of all steps, or "".
	Target string
}

// Sender copies each change of a zone by this server to a file or an HTTP receiver, as a line of JSON.
type Sender struct {
	target string
	client *http.Client

	mu     sync.Mutex
	lines  [][]byte
	octets int
	lost   int
	wake   chan struct{}
}

func CheckTarget(to string) error {
	u, err := url.Parse(to)
	if err == nil && ((u.Scheme == "https" || u.Scheme == "http") && u.Host != "" || u.Scheme == "" && len(to) > 0 && to[0] == '/') {
		return nil
	}
	return fmt.Errorf("%q: give an absolute path of a file, or the URL of a receiver, http:// or https://", to)
}

func NewSender(to string) (*Sender, error) {
	if err := CheckTarget(to); err != nil {
		return nil, err
	}
	return &Sender{target: to, client: &http.Client{Timeout: sendTimeout}, wake: make(chan struct{}, 1)}, nil
}

type sentStep struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	v1alpha1.HistoryStep
}

type lostSteps struct {
	Lost int       `json:"lost"`
	Time time.Time `json:"time"`
}

// Queue adds the steps of a committed write. The former states of Records are JSON of v1alpha1.HistoryState, by step
// and UID.
func (s *Sender) Queue(object *v1alpha1.Zone, steps []content.Step, statesBefore map[uint64]map[string]json.RawMessage) {
	for i := range steps {
		item := zone.HistoryItem{FQDN: object.Status.FQDN, View: object.Status.View, Namespace: object.Namespace, Name: object.Name,
			UID: string(object.UID), Step: steps[i], StatesBefore: statesBefore[steps[i].N]}
		s.queueItem(&item)
	}
}

func (s *Sender) QueueRemoval(uid string, lastStep uint64, removal *content.Removal) {
	entry := stored.EntryOfRemoval(uid, lastStep+1, removal)
	s.queueItem(&zone.HistoryItem{FQDN: removal.FQDN.String(), View: removal.View, Namespace: removal.Namespace, Name: removal.Name,
		UID: uid, Step: entry.Step, Removed: true, Zone: entry.Removed.State})
}

func (s *Sender) queueItem(item *zone.HistoryItem) {
	text, err := json.Marshal(sentStep{item.Namespace, item.Name, item.UID, zone.ShowStep(item)})
	s.mu.Lock()
	if err != nil || s.octets+len(text) > maxQueued {
		s.lost++
	} else {
		s.lines, s.octets = append(s.lines, append(text, '\n')), s.octets+len(text)
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run sends until ctx ends, and then for flushFor. A nil Sender sends nothing.
func (s *Sender) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	logger := klog.FromContext(ctx)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-s.wake:
		}
		for ctx.Err() == nil && s.isPending() {
			if err := s.sendPending(ctx); err != nil && ctx.Err() == nil {
				logger.Error(err, "The history is not sent; it is tried again", "to", s.target, "in", retryAfter)
				select {
				case <-ctx.Done():
				case <-time.After(retryAfter):
				}
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
	defer cancel()
	for s.isPending() && last.Err() == nil {
		if err := s.sendPending(last); err != nil {
			s.mu.Lock()
			logger.Error(err, "The history is not sent, and lost", "to", s.target, "steps", len(s.lines)+s.lost)
			s.mu.Unlock()
			return nil
		}
	}
	return nil
}

func (s *Sender) isPending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) > 0 || s.lost > 0
}

func (s *Sender) sendPending(ctx context.Context) error {
	s.mu.Lock()
	n, lost := min(len(s.lines), maxSent), s.lost
	body := bytes.Join(s.lines[:n], nil)
	s.mu.Unlock()
	if lost > 0 {
		text, err := json.Marshal(lostSteps{lost, time.Now().UTC()})
		if err != nil {
			return err
		}
		body = append(append(body, text...), '\n')
	}
	if err := s.deliverLines(ctx, body); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines[:n] {
		s.octets -= len(line) - 1
	}
	s.lines, s.lost = append([][]byte(nil), s.lines[n:]...), s.lost-lost
	return nil
}

func (s *Sender) deliverLines(ctx context.Context, body []byte) error {
	if s.target[0] == '/' {
		f, err := os.OpenFile(s.target, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(body)
		return errors.Join(err, f.Close())
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.target, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10))
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the receiver answers %s", answer.Status)
	}
	return nil
}
