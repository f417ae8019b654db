// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
)

const retryTime = 2 * time.Second

type problem struct {
	status  int
	message string
	retry   time.Duration // 0: no Retry-After
	cause   error         // only logged
}

func (p *problem) Error() string { return p.message }

func refuse(status int, format string, arguments ...any) *problem {
	return &problem{status: status, message: fmt.Sprintf(format, arguments...)}
}

func unavailable(cause error, message string) *problem {
	return &problem{status: http.StatusServiceUnavailable, message: message + "; the log of the agent says why", retry: retryTime,
		cause: cause}
}

func busy(retry time.Duration, format string, arguments ...any) *problem {
	p := refuse(http.StatusTooManyRequests, format, arguments...)
	p.retry = max(retry, time.Second)
	return p
}

// describeProblem returns status and body for an error, and sets the headers for that status. Only a *problem or a
// refusal of named is shown to the client, since other errors may have paths.
func describeProblem(w http.ResponseWriter, err error) (int, any) {
	var answer *problem
	var failure *rndc.Failure
	switch {
	case errors.As(err, &answer):
	case errors.As(err, &failure):
		answer = refuse(http.StatusInternalServerError, "%v", failure)
	default:
		answer = refuse(http.StatusInternalServerError, "the agent failed; its log says why")
	}
	if answer.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((answer.retry+time.Second-1)/time.Second)))
	}
	if answer.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	return answer.status, protocol.Error{Error: answer.message}
}
