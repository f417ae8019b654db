// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rdata

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// LOC is computed in integers, because miekg/dns uses floating point and may return other octets.

const (
	locEquator  = 1 << 31 // in 1/1000 arc seconds, RFC 1876 §2
	locDegree   = 3600 * 1000
	locSeaLevel = 10000000 // in centimetres
)

// appendLOC parses "d1 [m1 [s1]] N|S d2 [m2 [s2]] E|W alt [size [hp [vp]]]", such as 52 22 23 N 4 53 32 E -2m (RFC 1876
// §3).
func appendLOC(wire []byte, fields []token) ([]byte, error) {
	latitude, fields, err := locAngle(fields, 90, "N", "S")
	if err != nil {
		return nil, fmt.Errorf("latitude: %w", err)
	}
	longitude, fields, err := locAngle(fields, 180, "E", "W")
	if err != nil {
		return nil, fmt.Errorf("longitude: %w", err)
	}
	if len(fields) == 0 || len(fields) > 4 {
		return nil, errors.New("after the longitude come the altitude and at most size, horizontal and vertical precision, " +
			"as in \"-2m 1m 10000m 10m\"")
	}
	altitude, err := locCentimetres(fields[0].text)
	if err != nil || altitude < -locSeaLevel || altitude > 1<<32-1-locSeaLevel {
		return nil, fmt.Errorf("altitude %s: write metres from -100000.00 to 42849672.95", quote(fields[0].text))
	}
	// Size, horizontal and vertical precision.
	sizes := [3]byte{0x12, 0x16, 0x13} // the defaults of RFC 1876 §3
	for i, f := range fields[1:] {
		if sizes[i], err = locSize(f.text); err != nil {
			return nil, err
		}
	}
	wire = append(wire, 0, sizes[0], sizes[1], sizes[2])
	wire = binary.BigEndian.AppendUint32(wire, latitude)
	wire = binary.BigEndian.AppendUint32(wire, longitude)
	return binary.BigEndian.AppendUint32(wire, uint32(altitude+locSeaLevel)), nil
}

// locAngle parses an angle up to its direction, plus or minus, and returns its wire form and the fields behind. most is
// the limit in degrees.
func locAngle(fields []token, most int64, plus, minus string) (uint32, []token, error) {
	var parts [3]int64 // thousandths of degrees, minutes, seconds
	for i, f := range fields {
		upper := strings.ToUpper(f.text)
		// Minutes and seconds may be absent, as in "52 N".
		if upper == plus || upper == minus {
			if i == 0 {
				break
			}
			angle := parts[0]*3600 + parts[1]*60 + parts[2]
			if angle > most*locDegree {
				break
			}
			if upper == minus {
				angle = -angle
			}
			return uint32(locEquator + angle), fields[i+1:], nil
		}
		if i == len(parts) {
			break
		}
		decimals := 0
		if i == 2 {
			decimals = 3
		}
		value, err := locDecimal(f.text, decimals)
		if err != nil || value < 0 || i > 0 && value >= pow10(decimals)*60 {
			break
		}
		// In thousandths. Only seconds have decimals.
		parts[i] = value * 1000 / pow10(decimals)
	}
	return 0, nil, fmt.Errorf("write degrees up to %d, minutes and seconds (at most three decimals) below 60, and %s or %s", most, plus,
		minus)
}

func locCentimetres(text string) (int64, error) {
	if n := len(text); n > 0 && text[n-1]|0x20 == 'm' {
		text = text[:n-1]
	}
	return locDecimal(text, 2)
}

// locSize returns a size in centimetres as a digit and a power of ten, four bits each (RFC 1876 §2).
func locSize(text string) (byte, error) {
	cm, err := locCentimetres(text)
	if err != nil || cm < 0 || cm > 9e9 {
		return 0, fmt.Errorf("size or precision %s: write metres from 0.00m to 90000000m", quote(text))
	}
	exponent := 0
	for ; cm >= 10; exponent++ {
		if cm%10 != 0 {
			return 0, fmt.Errorf("size or precision %s: it can have only one digit that is not zero, as in \"20m\" (RFC 1876 §2)",
				quote(text))
		}
		cm /= 10
	}
	return byte(cm)<<4 | byte(exponent), nil
}

// locDecimal parses a decimal number, and returns the number times ten to the power of decimals.
func locDecimal(text string, decimals int) (int64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	negative := strings.HasPrefix(whole, "-")
	whole = strings.TrimPrefix(whole, "-")
	if whole == "" || len(whole) > 10 || len(fraction) > decimals {
		return 0, errors.New("not a decimal number of this size")
	}
	digits := whole + fraction + strings.Repeat("0", decimals-len(fraction))
	value, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, errors.New("not a decimal number")
	}
	if negative {
		return -int64(value), nil
	}
	return int64(value), nil
}

func pow10(n int) int64 {
	value := int64(1)
	for ; n > 0; n-- {
		value *= 10
	}
	return value
}

// readLOC appends the text of a LOC with all fields, also those that the author left to their defaults.
func (d *decoder) readLOC(text []byte) []byte {
	octets := d.readOctets(16)
	if octets[0] != 0 {
		d.fail(fmt.Errorf("version %d; only version 0 is defined (RFC 1876 §2)", octets[0]))
	}
	text = d.appendAngle(text, binary.BigEndian.Uint32(octets[4:]), 90, 'N', 'S')
	text = d.appendAngle(text, binary.BigEndian.Uint32(octets[8:]), 180, 'E', 'W')
	text = appendMetres(text, int64(binary.BigEndian.Uint32(octets[12:]))-locSeaLevel)
	for _, size := range octets[1:4] {
		digit, exponent := int64(size>>4), int(size&0x0f)
		if digit > 9 || exponent > 9 || digit == 0 && exponent > 0 {
			d.fail(fmt.Errorf("size or precision %#02x is not a digit and a power of ten (RFC 1876 §2)", size))
		}
		text = appendMetres(append(text, ' '), digit*pow10(exponent))
	}
	return text
}

func (d *decoder) appendAngle(text []byte, octets uint32, most int64, plus, minus byte) []byte {
	angle, direction := int64(octets)-locEquator, plus
	if angle < 0 {
		angle, direction = -angle, minus
	}
	if angle > most*locDegree {
		d.fail(fmt.Errorf("an angle of more than %d degrees", most))
	}
	text = strconv.AppendInt(text, angle/locDegree, 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, angle/60000%60, 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, angle/1000%60, 10)
	thousandths := angle % 1000
	text = append(text, '.', '0'+byte(thousandths/100), '0'+byte(thousandths/10%10), '0'+byte(thousandths%10))
	return append(text, ' ', direction, ' ')
}

func appendMetres(text []byte, cm int64) []byte {
	if cm < 0 {
		text = append(text, '-')
		cm = -cm
	}
	text = strconv.AppendInt(text, cm/100, 10)
	return append(text, '.', '0'+byte(cm/10%10), '0'+byte(cm%10), 'm')
}
