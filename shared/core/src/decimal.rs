//! Numbers of JSON compared by their decimal value: no rounding stands between a bound and what it bounds.
//!
//! An integer of 64 bits is exact. Any other number is read as an IEEE 754 double, as JSON readers do,
//! and taken to be the shortest decimal that names this double: a literal of up to 15 significant digits
//! is itself, so `0.1` is a tenth, and `300`, `300.0` and `3e2` are one number.

use std::cmp::Ordering;

use serde_json::Number;

/// A decimal number `± mantissa · 10^exponent`; the mantissa does not end in a zero, and zero is `0 · 10^0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    mantissa: u64,
    exponent: i32,
}

/// Most significant digits with which reading, writing and reading again are sure to agree.
const EXACT_DIGITS: u32 = 15;

/// Largest exponent, either way, for which the same holds.
const EXACT_EXPONENT: i32 = 22;

impl Decimal {
    /// The value of a number that was read.
    pub fn of(number: &Number) -> Self {
        if let Some(integer) = number.as_u64() {
            return Self::normal(false, integer, 0);
        }
        if let Some(integer) = number.as_i64() {
            return Self::normal(integer < 0, integer.unsigned_abs(), 0);
        }
        // A double prints as the shortest text that names it: at most 17 digits.
        let text = number.to_string();
        let (digits, power) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let mut exponent: i32 = power.parse().unwrap_or(0);
        let (mut mantissa, mut fraction) = (0u64, false);
        for octet in digits.bytes() {
            match octet {
                b'0'..=b'9' if mantissa < u64::MAX / 100 => {
                    mantissa = mantissa * 10 + u64::from(octet - b'0');
                    exponent -= i32::from(fraction);
                }
                // The zeros of a large number written out.
                b'0'..=b'9' => exponent += i32::from(!fraction),
                b'.' => fraction = true,
                _ => {}
            }
        }
        Self::normal(text.starts_with('-'), mantissa, exponent)
    }

    fn normal(negative: bool, mut mantissa: u64, mut exponent: i32) -> Self {
        if mantissa == 0 {
            return Self { negative: false, mantissa: 0, exponent: 0 };
        }
        while mantissa.is_multiple_of(10) {
            mantissa /= 10;
            exponent += 1;
        }
        Self { negative, mantissa, exponent }
    }

    /// Whether writing this number and reading it again gives it back, and no other literal of as few
    /// digits is confused with it.
    pub fn is_exact(&self) -> bool {
        let decimal = self.digits() <= EXACT_DIGITS && self.exponent.abs() <= EXACT_EXPONENT;
        decimal || self.integer().is_some()
    }

    /// Whether there is nothing behind the point.
    pub fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Whether it is above zero.
    pub fn is_positive(&self) -> bool {
        !self.negative && self.mantissa > 0
    }

    /// The number in JSON.
    pub fn number(&self) -> Number {
        if let Some(number) = self.integer() {
            return number;
        }
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}e{}", self.mantissa, self.exponent);
        serde_json::from_str(&text).unwrap_or_else(|_| Number::from(0))
    }

    /// The number as an integer of 64 bits, if it is one.
    fn integer(&self) -> Option<Number> {
        let power = 10u64.checked_pow(u32::try_from(self.exponent).ok()?)?;
        let magnitude = self.mantissa.checked_mul(power)?;
        if self.negative {
            return 0i64.checked_sub_unsigned(magnitude).map(Number::from);
        }
        Some(Number::from(magnitude))
    }

    /// Whether it is a whole multiple of `step`, which is above zero and has at most 15 digits.
    pub fn is_multiple_of(&self, step: &Self) -> bool {
        if step.mantissa == 0 {
            return false;
        }
        let mut rest = self.mantissa;
        let mut shift = self.exponent.saturating_sub(step.exponent);
        // self = m · 10^shift of steps' last places. Fewer places: the mantissa must end in as many zeros.
        while shift < 0 && rest != 0 {
            if !rest.is_multiple_of(10) {
                return false;
            }
            rest /= 10;
            shift += 1;
        }
        rest %= step.mantissa;
        // More places: ten at a time under the modulus, so that nothing overflows.
        while shift > 0 && rest != 0 {
            rest = (rest * 10) % step.mantissa;
            shift -= 1;
        }
        rest == 0
    }

    /// Significant digits.
    pub fn digits(&self) -> u32 {
        self.mantissa.checked_ilog10().map_or(1, |log| log + 1)
    }

    fn compare_magnitude(&self, other: &Self) -> Ordering {
        if self.mantissa == 0 || other.mantissa == 0 {
            return self.mantissa.cmp(&other.mantissa);
        }
        let (ours, theirs) = (self.digits(), other.digits());
        let places = |digits: u32, exponent: i32| i64::from(digits) + i64::from(exponent);
        places(ours, self.exponent).cmp(&places(theirs, other.exponent)).then_with(|| {
            // The same place before the point: compare digit by digit, padded to one length (at most 20).
            let padded =
                |mantissa: u64, digits: u32| u128::from(mantissa) * 10u128.pow(ours.max(theirs) - digits);
            padded(self.mantissa, ours).cmp(&padded(other.mantissa, theirs))
        })
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_magnitude(other),
            (true, true) => other.compare_magnitude(self),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn one_number_has_one_value_however_it_is_written() {
        for same in [
            ["300", "300.0"],
            ["300", "3e2"],
            ["0.1", "1e-1"],
            ["-0.0", "0"],
            ["1e20", "100000000000000000000"],
        ] {
            assert_eq!(decimal(same[0]), decimal(same[1]), "{same:?}");
        }
    }

    #[test]
    fn numbers_are_ordered_where_doubles_round() {
        let rising = [
            "-1e300",
            "-18446744073709551615.0",
            "-9007199254740993",
            "-9007199254740992",
            "-1",
            "-0.1",
            "0",
            "1e-300",
            "0.1",
            "0.3",
            "1",
            "9007199254740992",
            "9007199254740993",
            "18446744073709551614",
            "18446744073709551615",
            "1e300",
        ];
        for pair in rising.windows(2) {
            assert!(decimal(pair[0]) < decimal(pair[1]), "{pair:?}");
        }
    }

    #[test]
    fn a_tenth_goes_into_a_price_where_doubles_leave_a_rest() {
        for (value, step, fits) in [
            ("0.3", "0.1", true),
            ("19.99", "0.01", true),
            ("19.995", "0.01", false),
            ("7", "2", false),
            ("1e300", "7", false),
            ("7e300", "7", true),
            ("0", "5", true),
            ("5", "1e3", false),
            ("5000", "1e3", true),
            ("-4", "2", true),
            ("18446744073709551615", "5", true),
            ("1e-300", "1", false),
        ] {
            assert_eq!(decimal(value).is_multiple_of(&decimal(step)), fits, "{value} by {step}");
        }
    }

    #[test]
    fn what_would_be_read_back_as_another_number_is_known() {
        for exact in ["0.1", "123456789012345e-10", "18446744073709551615", "-9223372036854775808", "1e22"] {
            assert!(decimal(exact).is_exact(), "{exact}");
        }
        for vague in ["0.1234567890123456", "1e300", "18446744073709551616.5", "1e-23"] {
            assert!(!decimal(vague).is_exact(), "{vague}");
        }
    }

    proptest! {
        #[test]
        fn exact_numbers_survive_being_written(mantissa in -999_999_999_999_999i64..=999_999_999_999_999, exponent in -22i32..=22) {
            let it = decimal(&format!("{mantissa}e{exponent}"));
            prop_assume!(it.is_exact());
            let text = serde_json::to_string(&it.number()).unwrap();
            prop_assert_eq!(decimal(&text), it);
        }

        #[test]
        fn the_order_is_that_of_the_values(a in any::<i64>(), b in any::<i64>(), shift in 0u32..3) {
            let text = |n: i64| format!("{n}e-{shift}");
            let (a, b) = (a / 1_000_000, b / 1_000_000);
            prop_assert_eq!(decimal(&text(a)).cmp(&decimal(&text(b))), a.cmp(&b));
        }
    }
}
