// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubi.zone/kubizone/cmd/program"
)

const nextStep = "kubectl kubizone doctor finds the cause"

type timeouts struct {
	// After note a line reports the missing answer; after limit the request fails. Once a request has failed, later
	// requests get failedLimit, until an answer.
	note, limit, failedLimit time.Duration
	// always also bounds writes, watches and the rest of an answer (--request-timeout).
	always bool
}

var commandTimeouts = timeouts{note: 3 * time.Second, limit: 15 * time.Second, failedLimit: time.Second}

type unanswered struct{ error }

func (e unanswered) Unwrap() error { return e.error }

// Explain adds the command that finds the cause to an error of a silent API. A timeout of the server has the command
// already.
func Explain(err error) error {
	if _, silent := errors.AsType[unanswered](err); silent || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) {
		return fmt.Errorf("%w; %s", err, nextStep)
	}
	return err
}

type answers struct {
	http.RoundTripper
	timeouts

	noted  sync.Once
	silent atomic.Bool
}

func (a *answers) RoundTrip(request *http.Request) (answer *http.Response, err error) {
	if a.always || request.Method == http.MethodGet && request.URL.Query().Get("watch") == "" {
		answer, err = a.askWithin(request)
	} else {
		answer, err = a.RoundTripper.RoundTrip(request)
	}
	if err != nil && !errors.Is(err, io.EOF) { // client-go repeats a request at io.EOF
		err = unanswered{err}
	}
	return answer, err
}

// askWithin sends a request that is canceled after the limit. The limit is for the header of the answer or, with
// --request-timeout, until the body is closed.
func (a *answers) askWithin(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(request.Context())
	limit, noted := a.limit, make(chan struct{})
	// The user has waited once already.
	if a.silent.Load() {
		limit = a.failedLimit
	}
	expiry := time.AfterFunc(limit, func() { cancel(fmt.Errorf("the API has not answered for %s", limit)) })
	note := time.AfterFunc(a.note, func() {
		defer close(noted)
		a.noted.Do(func() { program.Note(ctx, "the API has not answered yet; "+nextStep) })
	})
	answer, err := a.RoundTripper.RoundTrip(request.WithContext(ctx))
	if !a.always {
		expiry.Stop()
	}
	if !note.Stop() {
		// The note may be printing. Wait, so that it does not come after the error.
		<-noted
	}
	if err != nil {
		if request.Context().Err() == nil && ctx.Err() != nil {
			a.silent.Store(true)
			err = context.Cause(ctx)
		}
		expiry.Stop()
		cancel(nil)
		return nil, err
	}
	a.silent.Store(false)
	answer.Body = &body{answer.Body, func() { expiry.Stop(); cancel(nil) }}
	return answer, nil
}

type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
