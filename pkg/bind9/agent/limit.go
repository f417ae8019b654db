// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"net"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxAddresses bounds the addresses whose requests are counted.
const maxAddresses = 4096

// limiter counts the requests of each address, those of one IPv6 network of 64 bits together.
type limiter struct {
	rate, burst int

	mu        sync.Mutex
	addresses map[string]*rate.Limiter
}

func newLimiter(perSecond, burst int) *limiter {
	return &limiter{rate: perSecond, burst: burst, addresses: map[string]*rate.Limiter{}}
}

// reserveRequest returns how long the request has to wait, 0 for not at all.
func (l *limiter) reserveRequest(remote string, now time.Time) time.Duration {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		host = remote
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		host = ip.Mask(net.CIDRMask(64, 128)).String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.addresses[host]
	if one == nil {
		if len(l.addresses) >= maxAddresses {
			for address, other := range l.addresses {
				if other.TokensAt(now) >= float64(l.burst) {
					delete(l.addresses, address)
				}
			}
		}
		if len(l.addresses) >= maxAddresses {
			return time.Second // each of them has asked within the last seconds
		}
		one = rate.NewLimiter(rate.Limit(l.rate), l.burst)
		l.addresses[host] = one
	}
	reservation := one.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}
