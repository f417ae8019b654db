// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/client/externaldns/contract"
)

const (
	// external-dns exits after 15 s without an answer.
	answerTime = 9 * time.Second
	decideTime = 7 * time.Second
	workTime   = 10 * time.Minute
)

type handler struct {
	*provider
	running     context.Context
	busy        chan struct{}
	endDeciding context.CancelFunc
}

func newHandler(running context.Context, p *provider) http.Handler {
	h := &handler{provider: p, running: running, busy: make(chan struct{}, 1), endDeciding: func() {}}
	mux := http.NewServeMux()
	// external-dns reads the domain filter once. An empty filter includes later zones.
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _ = writeJSON(w, struct{}{}) })
	mux.HandleFunc("GET /records", h.workAlone(h.serveRecords))
	mux.HandleFunc("POST /adjustendpoints", h.workAlone(h.serveAdjustment))
	mux.HandleFunc("POST /records", h.workAlone(h.serveChanges))
	return http.TimeoutHandler(requireVersion(mux), answerTime,
		"the changes take longer, and continue; the next cycle of external-dns sees the result")
}

// requireVersion answers 415 or 406 to another version of the protocol than contract.MediaType. A GET without Accept is
// let in, or with */* as curl sends.
func requireVersion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header, code := "Content-Type", http.StatusUnsupportedMediaType
		if r.Method == http.MethodGet {
			header, code = "Accept", http.StatusNotAcceptable
		}
		given := r.Header.Get(header)
		if given == contract.MediaType || header == "Accept" && (given == "" || given == "*/*") {
			next.ServeHTTP(w, r)
			return
		}
		http.Error(w, fmt.Sprintf("%s %q: a webhook provider of external-dns speaks %s", header, given, contract.MediaType), code)
	})
}

func writeJSON(w http.ResponseWriter, answer any) error {
	w.Header().Set("Content-Type", contract.MediaType)
	return json.NewEncoder(w).Encode(answer)
}

// workAlone serializes requests. The context of a request's work outlasts the request, so the work continues after a
// timeout.
func (h *handler) workAlone(serveOne func(ctx context.Context, w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case h.busy <- struct{}{}:
			defer func() { <-h.busy }()
		case <-r.Context().Done():
			return
		}
		ctx, cancel := context.WithTimeout(h.running, workTime)
		defer cancel()
		if err := serveOne(ctx, w, r); err != nil {
			klog.Warningf("external-dns: %v", err)
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func (h *handler) serveRecords(ctx context.Context, w http.ResponseWriter, _ *http.Request) error {
	// A list that came too late for its request answers the next request.
	if h.lastSnapshot != nil && h.lastSnapshot.answered {
		h.lastSnapshot = nil
	}
	existing, err := h.readExisting(ctx)
	if err != nil {
		return err
	}
	existing.answered = writeJSON(w, existing.existing.Endpoints()) == nil
	return nil
}

// serveAdjustment answers with the endpoints that the server admits, so that external-dns plans no change for a refused
// name. It waits for the verdicts up to decideTime.
func (h *handler) serveAdjustment(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	decided := time.After(decideTime)
	endpoints, err := contract.ReadEndpoints(r.Body)
	if err != nil {
		return err
	}
	// With a registry cache, external-dns may not have requested the records before.
	existing, err := h.readExisting(ctx)
	if err != nil {
		return err
	}
	a := &adjustment{existing, externaldns.Group(h.makeCandidates(existing, endpoints))}
	h.AddHolders(a.existing, a.wanted)
	// Dry runs continue after the answer. Those of the last cycle are obsolete.
	h.endDeciding()
	deciding, end := context.WithTimeout(h.running, workTime)
	h.endDeciding = end
	shared := make(chan struct{})
	go h.decideAll(deciding, a, shared)
	// An endpoint without a verdict waits for the next cycle.
	select {
	case <-shared:
	case <-decided:
	}

	// Others' objects may have the RRset if the object that external-dns names is refused.
	answer, refused := a.existing.Choose(h.joinOthers(a), func(c *externaldns.Candidate) *externaldns.Candidate {
		return h.lookUpVerdict(a, c)
	})
	go h.reportAll(h.running, refused)
	_ = writeJSON(w, answer) // the client may have gone
	return nil
}

// serveChanges writes a plan of external-dns. The answer is 204 even if the server refused some Records, because
// external-dns would repeat the whole cycle after an error.
func (h *handler) serveChanges(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	changes, err := contract.ReadChanges(r.Body)
	if err != nil {
		return err
	}
	refused, err := h.applyChanges(ctx, changes)
	go h.reportAll(h.running, refused)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}
