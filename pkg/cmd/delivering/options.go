// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/delivery"
)

// Options say how often something is tried.
type Options struct {
	RetryBaseDelay, RetryMaxDelay time.Duration
	RetryMaxAttempts              int
	HealthCheckInterval           time.Duration
	// wrong is what stood in the environment and cannot be read.
	wrong []error
}

// Environment variables, each the default of the flag of the same meaning.
const (
	EnvRetryBaseDelay   = "DNS_RECORD_RETRY_BASE_DELAY"
	EnvRetryMaxDelay    = "DNS_RECORD_RETRY_MAX_DELAY"
	EnvRetryMaxAttempts = "DNS_RECORD_RETRY_MAX_ATTEMPTS"
	EnvHealthInterval   = "DNS_CLASS_HEALTH_CHECK_INTERVAL"
)

// NewOptions are the defaults, as the environment has them.
func NewOptions() Options {
	o := Options{}
	o.RetryBaseDelay = o.duration(EnvRetryBaseDelay, 5*time.Second)
	o.RetryMaxDelay = o.duration(EnvRetryMaxDelay, time.Minute)
	o.HealthCheckInterval = o.duration(EnvHealthInterval, 10*time.Minute)
	o.RetryMaxAttempts = 5
	if text, ok := os.LookupEnv(EnvRetryMaxAttempts); ok {
		attempts, err := strconv.Atoi(text)
		if err != nil {
			o.wrong = append(o.wrong, fmt.Errorf("%s=%q: must be a number of attempts, such as 5", EnvRetryMaxAttempts, text))
		}
		o.RetryMaxAttempts = attempts
	}
	return o
}

func (o *Options) duration(variable string, usual time.Duration) time.Duration {
	text, ok := os.LookupEnv(variable)
	if !ok {
		return usual
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		o.wrong = append(o.wrong, fmt.Errorf("%s=%q: must be a duration, such as 5s or 1m30s", variable, text))
		return usual
	}
	return d
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.RetryBaseDelay, "record-retry-base-delay", o.RetryBaseDelay, "time after which a failed delivery is tried "+
		"again; doubled with each attempt (environment: "+EnvRetryBaseDelay+")")
	flags.DurationVar(&o.RetryMaxDelay, "record-retry-max-delay", o.RetryMaxDelay, "longest time between two attempts (environment: "+
		EnvRetryMaxDelay+")")
	flags.IntVar(&o.RetryMaxAttempts, "record-retry-max-attempts", o.RetryMaxAttempts, "attempts after which a delivery is tried every "+
		"ten minutes (environment: "+EnvRetryMaxAttempts+")")
	flags.DurationVar(&o.HealthCheckInterval, "class-health-check-interval", o.HealthCheckInterval, "time between two health checks of a "+
		"DNSClass (environment: "+EnvHealthInterval+")")
}

// Validate reports everything that is wrong.
func (o *Options) Validate() error {
	wrong := o.wrong
	for _, one := range []struct {
		flag string
		d    time.Duration
	}{{"record-retry-base-delay", o.RetryBaseDelay}, {"record-retry-max-delay", o.RetryMaxDelay}, {"class-health-check-interval",
		o.HealthCheckInterval}} {
		if one.d <= 0 {
			wrong = append(wrong, fmt.Errorf("--%s %s: must be more than 0", one.flag, one.d))
		}
	}
	if o.RetryMaxDelay < o.RetryBaseDelay {
		wrong = append(wrong, fmt.Errorf("--record-retry-max-delay %s: is less than --record-retry-base-delay %s", o.RetryMaxDelay,
			o.RetryBaseDelay))
	}
	if o.RetryMaxAttempts < 1 {
		wrong = append(wrong, fmt.Errorf("--record-retry-max-attempts %d: must be at least 1", o.RetryMaxAttempts))
	}
	return errors.Join(wrong...)
}

// Backoff is what the options mean to deliveries.
func (o *Options) Backoff() delivery.Backoff {
	return delivery.Backoff{Base: o.RetryBaseDelay, Max: o.RetryMaxDelay, Attempts: o.RetryMaxAttempts}
}
