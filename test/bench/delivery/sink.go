// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

type sink struct {
	*httptest.Server
	came *arrivals
}

func newSink() *sink {
	s := &sink{came: newArrivals()}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	answer := func(status int, value any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(value)
	}
	yes, no := true, false
	if strings.HasSuffix(r.URL.Path, protocol.HealthPath) {
		answer(http.StatusOK, protocol.Health{Status: protocol.Healthy, Timestamp: at.UTC().Format(time.RFC3339), Features: []string{protocol.FeatureBatch}})
		return
	}
	seen := func(record protocol.Record) {
		for _, value := range record.Values {
			s.came.noteSeen(record.Subdomain, value, at)
		}
	}
	switch {
	case strings.HasSuffix(r.URL.Path, protocol.BatchPath):
		var batch protocol.Batch
		if err := json.NewDecoder(r.Body).Decode(&batch); err != nil {
			answer(http.StatusBadRequest, protocol.Response{Success: &no, Error: protocol.Refuse(protocol.CodeInvalidRecord, "%v", err)})
			return
		}
		results := make([]protocol.BatchResult, len(batch.Operations))
		for i, one := range batch.Operations {
			seen(one.Record)
			results[i] = protocol.BatchResult{Status: http.StatusOK, Response: protocol.Response{Success: &yes, Record: &batch.Operations[i].Record}}
		}
		answer(http.StatusOK, protocol.BatchResponse{Success: &yes, Results: results})
	case r.Method == http.MethodPost:
		var request protocol.Request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			answer(http.StatusBadRequest, protocol.Response{Success: &no, Error: protocol.Refuse(protocol.CodeInvalidRecord, "%v", err)})
			return
		}
		seen(request.Record)
		answer(http.StatusOK, protocol.Response{Success: &yes, Record: &request.Record})
	default:
		answer(http.StatusOK, protocol.Response{Success: &yes})
	}
}
