// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/slots"
)

type Config struct {
	Backend Backend
	// Secrets returns the valid secrets, two during a rotation. Empty secrets are ignored.
	Secrets   func() ([][]byte, error)
	Algorithm protocol.Algorithm
	// BasePath is the prefix of all paths, for example "/dns".
	BasePath string
	// Logger logs failed requests; may be nil.
	Logger *slog.Logger
	Now    func() time.Time
}

const (
	// maxNonces bounds the stored nonces, of ten minutes at most.
	maxNonces = 200_000
	// maxRequests bounds the memory of signed requests, and of bodies being read.
	maxRequests = 64
	readShare   = 16
	bodyTime    = 5 * time.Second
	busyRetry   = 10 * time.Second
)

type handler struct {
	config Config
	since  time.Time
	nonces nonces
	// readers limits the bodies read before the signature is checked. If all slots are taken, the oldest request is
	// closed, because an honest client sends the body at once.
	readers   *slots.Slots
	bodySlots chan struct{}
}

func (config Config) Validate() error {
	wrong := []error{config.Algorithm.Validate()}
	if base := config.BasePath; base != "" {
		if unescaped, err := url.PathUnescape(base); err != nil || !strings.HasPrefix(base, "/") || strings.HasSuffix(base, "/") ||
			(&url.URL{Path: unescaped, RawPath: base}).EscapedPath() != base {
			wrong = append(wrong, fmt.Errorf("base path %q: must be an escaped path that begins with / and does not end with it", base))
		}
	}
	return errors.Join(wrong...)
}

func New(config Config) (http.Handler, error) {
	var missing error
	if config.Backend == nil || config.Secrets == nil {
		missing = errors.New("a server needs a backend and secrets")
	}
	if err := errors.Join(config.Validate(), missing); err != nil {
		return nil, err
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &handler{
		config: config, since: config.Now().Truncate(time.Second),
		nonces:    nonces{maxEntries: maxNonces, expiries: map[[sha256.Size]byte]time.Time{}},
		readers:   slots.New(maxRequests, readShare),
		bodySlots: make(chan struct{}, maxRequests),
	}, nil
}

func (h *handler) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	seal, err := h.readSeal(request)
	if err != nil {
		// A request without valid signature headers takes no slot.
		w.Header().Set("Connection", "close")
		h.answerRefusal(w, request, err)
		return
	}
	body, err := h.readBody(w, request)
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			h.answerRefusal(w, request, &protocol.Error{Code: protocol.CodeInvalidRecord,
				Message: fmt.Sprintf("the body is longer than %d octets", protocol.MaxBody), Status: http.StatusRequestEntityTooLarge})
		}
		return
	}
	if err := h.verifySeal(request, seal, body); err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	select {
	case h.bodySlots <- struct{}{}:
		defer func() { <-h.bodySlots }()
	case <-request.Context().Done():
		return
	}
	h.routeRequest(w, request, body)
}

func (h *handler) routeRequest(w http.ResponseWriter, request *http.Request, body []byte) {
	path, isBelow := strings.CutPrefix(request.URL.EscapedPath(), h.config.BasePath)
	record, ofRecord := strings.CutPrefix(path, protocol.RecordsPath+"/")
	route, isKnown := map[string]struct {
		method string
		serve  func(w http.ResponseWriter, request *http.Request, body []byte)
	}{
		protocol.HealthPath:  {http.MethodGet, h.serveHealth},
		protocol.RecordsPath: {http.MethodPost, h.serveUpsert},
		protocol.BatchPath:   {http.MethodPost, h.serveBatch},
	}[path]
	switch {
	case isBelow && isKnown:
		if allowMethod(w, request, route.method) {
			route.serve(w, request, body)
		}
	case isBelow && ofRecord:
		if allowMethod(w, request, http.MethodGet, http.MethodDelete) {
			h.serveRecord(w, request, record)
		}
	// A path outside of the protocol gets a plain 404, because a 404 of the protocol means a missing record.
	default:
		http.NotFound(w, request)
	}
}

func (h *handler) readBody(w http.ResponseWriter, request *http.Request) ([]byte, error) {
	if request.Body == nil || request.Body == http.NoBody || request.ContentLength == 0 {
		return nil, nil
	}
	control := http.NewResponseController(w)
	client, cut := findClient(request.RemoteAddr), func() { _ = control.SetReadDeadline(time.Unix(1, 0)) }
	place := slots.TakeWhenFreed(request.Context(), func() (*slots.Slot, <-chan struct{}) { return h.readers.Take(client, cut) })
	if place == nil {
		return nil, request.Context().Err()
	}
	defer place.Release()
	// A ResponseWriter may not support deadlines.
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, protocol.MaxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	}
	return body, err
}

func findClient(remote string) slots.Client {
	at, _ := netip.ParseAddrPort(remote)
	address := at.Addr().Unmap().WithZone("")
	if network, err := address.Prefix(64); err == nil {
		address = network.Addr()
	}
	return slots.Client{Network: address}
}

func allowMethod(w http.ResponseWriter, request *http.Request, methods ...string) bool {
	for _, method := range methods {
		if request.Method == method {
			return true
		}
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	return false
}

func (h *handler) serveHealth(w http.ResponseWriter, request *http.Request, _ []byte) {
	health := protocol.Health{
		Status: protocol.Healthy, Message: "records are taken", Timestamp: protocol.Timestamp(h.config.Now()),
		Features: []string{protocol.FeatureBatch, protocol.FeatureValueMetadata, protocol.FeaturePresentation},
	}
	status := http.StatusOK
	if err := h.config.Backend.Health(request.Context()); err != nil {
		h.config.Logger.Error("the backend is not healthy", "err", err)
		status, health.Status, health.Message = http.StatusServiceUnavailable, "unhealthy", "the backend is not healthy; the log says why"
	}
	sendJSON(w, status, health)
}

func (h *handler) serveUpsert(w http.ResponseWriter, request *http.Request, body []byte) {
	var asked protocol.Request
	if err := parseJSON(body, &asked); err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	if asked.Operation != protocol.Upsert {
		h.answerRefusal(w, request, protocol.Refuse(protocol.CodeInvalidRecord, "operation: must be %q; a record is deleted by DELETE",
			protocol.Upsert))
		return
	}
	set, err := protocol.Decode(asked.Record)
	if err == nil {
		err = h.applySets(request.Context(), []protocol.RRset{set})[0]
	}
	if err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	h.answerRRset(w, request, set, "the record is as asked for")
}

func (h *handler) serveRecord(w http.ResponseWriter, request *http.Request, path string) {
	zone, owner, t, err := protocol.ParseRecordPath(path)
	if err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	set := protocol.RRset{Zone: zone, Name: owner, Type: t}
	if request.Method == http.MethodDelete {
		if err := h.applySets(request.Context(), []protocol.RRset{set})[0]; err != nil {
			h.answerRefusal(w, request, err)
			return
		}
		sendJSON(w, http.StatusOK, protocol.Response{Success: new(true), Message: "there is no such record any more"})
		return
	}
	if set, err = h.config.Backend.Read(request.Context(), zone, owner, t); err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	if len(set.Data) == 0 {
		h.answerRefusal(w, request, protocol.Refuse(protocol.CodeRecordNotFound, "there is no such record"))
		return
	}
	h.answerRRset(w, request, set, "")
}

func (h *handler) serveBatch(w http.ResponseWriter, request *http.Request, body []byte) {
	// Count before decoding, because an operation of three octets takes two hundred in memory.
	var batch struct {
		Operations []json.RawMessage `json:"operations"`
	}
	if err := parseJSON(body, &batch); err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	if n := len(batch.Operations); n == 0 || n > protocol.MaxBatch {
		h.answerRefusal(w, request, protocol.Refuse(protocol.CodeInvalidRecord, "operations: %d of them; give 1 to %d", n,
			protocol.MaxBatch))
		return
	}
	operations := make([]protocol.Request, len(batch.Operations))
	for at, text := range batch.Operations {
		if err := parseJSON(text, &operations[at]); err != nil {
			h.answerRefusal(w, request, err)
			return
		}
	}
	results := make([]error, len(operations))
	var sets []protocol.RRset
	var places []int // indices of sets in results
	for at, asked := range operations {
		var set protocol.RRset
		switch asked.Operation {
		case protocol.Upsert:
			set, results[at] = protocol.Decode(asked.Record)
		case protocol.Delete:
			set, results[at] = asked.Record.Key()
		default:
			results[at] = protocol.Refuse(protocol.CodeInvalidRecord, "operation: must be %q or %q", protocol.Upsert, protocol.Delete)
		}
		if results[at] == nil {
			sets, places = append(sets, set), append(places, at)
		}
	}
	for at, err := range h.applySets(request.Context(), sets) {
		results[places[at]] = err
	}
	all := true
	answer := protocol.BatchResponse{Success: &all, Results: make([]protocol.BatchResult, len(results))}
	for at, err := range results {
		status, refusal := http.StatusOK, (*protocol.Error)(nil)
		if err != nil {
			all = false
			refusal = h.logRefusal(request, err)
			status = refusal.HTTPStatus()
		}
		answer.Results[at] = protocol.BatchResult{Status: status, Response: protocol.Response{Success: new(err == nil), Error: refusal}}
	}
	sendJSON(w, http.StatusOK, answer)
}

func (h *handler) applySets(ctx context.Context, sets []protocol.RRset) []error {
	var results []error
	for begin := 0; begin < len(sets); {
		end := begin
		for end < len(sets) && sets[end].Zone == sets[begin].Zone {
			end++
		}
		results = append(results, h.config.Backend.Apply(ctx, sets[begin].Zone, sets[begin:end])...)
		begin = end
	}
	return results
}

func parseJSON(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(into); err != nil {
		return protocol.Refuse(protocol.CodeInvalidRecord, "the body is not the protocol's JSON")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return protocol.Refuse(protocol.CodeInvalidRecord, "something follows the JSON in the body")
	}
	return nil
}

func (h *handler) answerRRset(w http.ResponseWriter, request *http.Request, set protocol.RRset, message string) {
	write := protocol.Encode
	if !protocol.Exact(set) {
		write = protocol.EncodePresentation
	}
	record, err := write(set)
	if err != nil {
		h.answerRefusal(w, request, err)
		return
	}
	record.FQDN = withoutDot(set.Name)
	sendJSON(w, http.StatusOK, protocol.Response{Success: new(true), Record: &record, Message: message})
}

func withoutDot(n name.Name) string { return strings.TrimSuffix(n.String(), ".") }

func (h *handler) logRefusal(request *http.Request, err error) *protocol.Error {
	var refusal *protocol.Error
	if !errors.As(err, &refusal) {
		h.config.Logger.Error("request failed", "method", request.Method, "path", request.URL.EscapedPath(), "err", err)
		return protocol.Refuse(protocol.CodeServerError, "the server failed; its log says why")
	}
	level := slog.LevelInfo
	if refusal.Code == protocol.CodeRecordNotFound {
		level = slog.LevelDebug
	}
	h.config.Logger.Log(request.Context(), level, "request refused", "method", request.Method, "path", request.URL.EscapedPath(), "code",
		refusal.Code, "reason", refusal.Message)
	return refusal
}

func (h *handler) answerRefusal(w http.ResponseWriter, request *http.Request, err error) {
	refusal := h.logRefusal(request, err)
	if refusal.Code == protocol.CodeRateLimited {
		w.Header().Set("Retry-After", strconv.Itoa(int(busyRetry/time.Second)))
	}
	sendJSON(w, refusal.HTTPStatus(), protocol.Response{Success: new(false), Error: refusal})
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	body, err := protocol.Marshal(value)
	if err != nil {
		panic(err) // values of this package marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	w.Write(body)
}
