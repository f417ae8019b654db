// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"kubi.zone/kubizone/pkg/inprocess"
)

// refuseEarly answers requests for objects with 503 and Retry-After until the server has been ready once. Until then
// admission would refuse writes with 403, which no client repeats, and decisions would rest on classes and labels of
// namespaces that are not read yet. A Service may lead to a server that is not ready: its endpoints follow a container
// late that restarts quickly.
func (s *Server) refuseEarly(handler http.Handler, config *genericapiserver.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || s.hasBeenReady(r) {
			handler.ServeHTTP(w, r)
			return
		}
		early := apierrors.NewServiceUnavailable("this server has just started, and /readyz says what it still reads; " +
			"nothing was done: try again")
		early.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(early, config.Serializer, version, w, r)
	})
}

// hasBeenReady reports whether /readyz has passed since the start. Until then each request asks /readyz, so that a
// client that has seen it pass is answered.
func (s *Server) hasBeenReady(r *http.Request) bool {
	if s.ready.Load() {
		return true
	}
	probe, err := http.NewRequestWithContext(r.Context(), http.MethodGet, "/readyz", nil)
	if err != nil {
		return false
	}
	answer := inprocess.NewRecorder()
	s.generic.Handler.NonGoRestfulMux.ServeHTTP(answer, probe)
	if answer.Code == http.StatusOK {
		s.ready.Store(true)
	}
	return s.ready.Load()
}

// sendAway ends the connection of each client with an answer, once the Service has forgotten a server that stops. A
// client goes to another server with its next request. Without that, kube-apiserver's connection would stay until
// requests are refused, and its clients would come again seconds later. kube-apiserver does not repeat a write that
// crosses the end of its connection (kubernetes/kubernetes#135285), now or then.
func (s *Server) sendAway(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close") // HTTP/2 sends GOAWAY for that
		}
		handler.ServeHTTP(w, r)
	})
}

// leaveAfter starts sendAway half of the shutdown delay after the end of ctx. The Service forgets the server in the
// first half.
func (s *Server) leaveAfter(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		time.Sleep(s.generic.ShutdownDelayDuration / 2)
		s.leaving.Store(true)
	})
}
