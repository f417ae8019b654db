// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
)

type Retries struct {
	Backoff        delivery.Backoff
	HealthInterval time.Duration
}

const (
	EnvRetryBaseDelay   = "DNS_RECORD_RETRY_BASE_DELAY"
	EnvRetryMaxDelay    = "DNS_RECORD_RETRY_MAX_DELAY"
	EnvRetryMaxAttempts = "DNS_RECORD_RETRY_MAX_ATTEMPTS"
	EnvHealthInterval   = "DNS_CLASS_HEALTH_CHECK_INTERVAL"
)

// ReadRetries reads the delays between retries from the environment, such as DNS_RECORD_RETRY_MAX_DELAY=1m. The error
// lists every invalid variable.
func ReadRetries() (Retries, error) {
	var wrong []error
	duration := func(variable string, usual time.Duration) time.Duration {
		text, ok := os.LookupEnv(variable)
		if !ok {
			return usual
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			wrong = append(wrong, fmt.Errorf("%s=%q: must be a duration of more than 0, such as 5s or 1m30s", variable, text))
			return usual
		}
		return d
	}
	r := Retries{HealthInterval: duration(EnvHealthInterval, 10*time.Minute)}
	r.Backoff.Base, r.Backoff.Max = duration(EnvRetryBaseDelay, 5*time.Second), duration(EnvRetryMaxDelay, time.Minute)
	if r.Backoff.Max < r.Backoff.Base {
		wrong = append(wrong, fmt.Errorf("%s %s: is less than %s %s", EnvRetryMaxDelay, r.Backoff.Max, EnvRetryBaseDelay, r.Backoff.Base))
	}
	r.Backoff.Attempts = 5
	if text, ok := os.LookupEnv(EnvRetryMaxAttempts); ok {
		attempts, err := strconv.Atoi(text)
		if err != nil || attempts < 1 {
			wrong = append(wrong, fmt.Errorf("%s=%q: must be a number of attempts from 1 up, such as 5", EnvRetryMaxAttempts, text))
		}
		r.Backoff.Attempts = attempts
	}
	return r, errors.Join(wrong...)
}
