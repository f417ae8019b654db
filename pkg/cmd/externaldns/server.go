// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/externaldns"
)

const (
	// answerTime is within the 15 s that external-dns waits, which it ends at.
	answerTime = 9 * time.Second
	// decideTime is how long a request waits for verdicts; later ones are there in the next cycle.
	decideTime = 7 * time.Second
	// workTime bounds work that goes on.
	workTime = 10 * time.Minute
	// keepTime is how long a list is good for the requests of the cycle that it was made for.
	keepTime = time.Minute
)

// handler answers external-dns. It works on one request at a time, as external-dns sends them, and asks for verdicts
// beside.
type handler struct {
	*provider
	running     context.Context
	busy        chan struct{}
	endDeciding context.CancelFunc
}

func newHandler(running context.Context, p *provider) http.Handler {
	h := &handler{provider: p, running: running, busy: make(chan struct{}, 1), endDeciding: func() {}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		// The filter is read once, when external-dns starts: a zone that comes later must not be missing in it.
		if wantsOurs(w, r, "Accept", http.StatusNotAcceptable) {
			writeJSON(w, struct{}{})
		}
	})
	mux.HandleFunc("GET /records", h.serveRecords)
	mux.HandleFunc("POST /adjustendpoints", h.serveAdjustment)
	mux.HandleFunc("POST /records", h.serveChanges)
	return mux
}

// wantsOurs judges the media type of a request, and answers one of another version.
func wantsOurs(w http.ResponseWriter, r *http.Request, header string, code int) bool {
	given := r.Header.Get(header)
	if given == externaldns.MediaType || header == "Accept" && (given == "" || given == "*/*") {
		return true
	}
	http.Error(w, fmt.Sprintf("%s %q: a webhook provider of external-dns speaks %s", header, given, externaldns.MediaType), code)
	return false
}

func writeJSON(w http.ResponseWriter, answer any) {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(answer); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", externaldns.MediaType)
	_, _ = w.Write(body.Bytes()) // a client that has gone is not answered
}

// workAlone returns false where the work is not done in time: then it goes on.
func (h *handler) workAlone(timeout <-chan time.Time, do func(ctx context.Context)) bool {
	select {
	case h.busy <- struct{}{}:
	case <-timeout:
		return false
	}
	done := make(chan struct{})
	go func() {
		defer func() { <-h.busy }()
		defer close(done)
		ctx, cancel := context.WithTimeout(h.running, workTime)
		defer cancel()
		do(ctx)
	}()
	select {
	case <-done:
		return true
	case <-timeout:
		return false
	}
}

// answerLater says that work goes on.
func answerLater(w http.ResponseWriter) {
	http.Error(w, "it takes longer, and goes on; the next cycle of external-dns finds what is done", http.StatusServiceUnavailable)
}

func (h *handler) serveRecords(w http.ResponseWriter, r *http.Request) {
	if !wantsOurs(w, r, "Accept", http.StatusNotAcceptable) {
		return
	}
	var found *snapshot
	var err error
	began := time.Now()
	inTime := h.workAlone(time.After(answerTime), func(ctx context.Context) {
		// A list that came too late answers the request after the one that asked for it.
		if h.kept != nil && h.kept.answered {
			h.kept = nil
		}
		if found, err = h.readStanding(ctx); err == nil {
			found.answered = time.Since(began) < answerTime
		}
	})
	switch {
	case !inTime:
		answerLater(w)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		writeJSON(w, found.standing.Endpoints())
	}
}

func (h *handler) serveAdjustment(w http.ResponseWriter, r *http.Request) {
	timeout, decided := time.After(answerTime), time.After(decideTime)
	if !wantsOurs(w, r, "Content-Type", http.StatusUnsupportedMediaType) {
		return
	}
	endpoints, err := externaldns.ReadEndpoints(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// What stands is read anew: with a cache of external-dns' registry no request for records came before.
	var a *adjustment
	shared := make(chan struct{})
	inTime := h.workAlone(timeout, func(ctx context.Context) {
		if a, err = h.newAdjustment(ctx, endpoints); err != nil {
			return
		}
		// Verdicts change nothing, so what else comes does not wait for them. Those of the cycle before are not needed.
		h.endDeciding()
		var deciding context.Context
		deciding, h.endDeciding = context.WithTimeout(h.running, workTime)
		go h.decideAll(deciding, a, shared)
	})
	switch {
	case !inTime:
		answerLater(w)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	// An endpoint without a verdict waits for the next cycle: a namespace that is slow, or has very many, keeps nothing
	// from the others.
	select {
	case <-shared:
	case <-decided:
	}
	writeJSON(w, h.chooseAnswer(a))
}

func (h *handler) serveChanges(w http.ResponseWriter, r *http.Request) {
	timeout := time.After(answerTime)
	if !wantsOurs(w, r, "Content-Type", http.StatusUnsupportedMediaType) {
		return
	}
	changes, err := externaldns.ReadChanges(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var failed error
	switch inTime := h.workAlone(timeout, func(ctx context.Context) { failed = h.applyChanges(ctx, changes) }); {
	case !inTime:
		answerLater(w)
	case failed != nil:
		klog.Warningf("external-dns: %v", failed)
		http.Error(w, failed.Error(), http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
