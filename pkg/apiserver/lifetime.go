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

	"kubi.zone/kubizone/pkg/kit/inprocess"
)

// refuseUntilReady answers 503 until /readyz has passed once (A8). Without this, admission would answer 403.
func (s *Server) refuseUntilReady(handler http.Handler, config *genericapiserver.Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if !ok || !info.IsResourceRequest || s.hasBeenReady(r) {
			handler.ServeHTTP(w, r)
			return
		}
		text := "this server has just started, and /readyz says what it still reads; nothing was done: try again"
		if s.firstMissing != nil {
			if fault, step := s.firstMissing(); fault != "" {
				text = "this server is not ready: " + fault + "; nothing was done: " + step
			}
		}
		early := apierrors.NewServiceUnavailable(text)
		early.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		version := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
		responsewriters.ErrorNegotiated(early, config.Serializer, version, w, r)
	})
}

// hasBeenReady reports whether /readyz has passed once. It asks /readyz by a call until then, so no client waits for
// the next probe of the kubelet.
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

// During shutdown, closeConnections closes connections with their next response (A5). Otherwise kube-apiserver keeps
// its connection, and does not retry a write that races with the close (kubernetes/kubernetes#135285).
func (s *Server) closeConnections(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}

// leaveAfter enables closeConnections after half of the shutdown delay, when the Service has removed this endpoint.
func (s *Server) leaveAfter(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		time.Sleep(s.generic.ShutdownDelayDuration / 2)
		s.leaving.Store(true)
	})
}
