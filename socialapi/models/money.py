"""Amounts of money as integer millionths, and ISO 4217 currency codes without codes for funds, metals and tests."""

import contextlib
import decimal
import re
from decimal import Decimal
from typing import Final, Self

import attrs

from socialapi.errors import InvalidInput
from socialapi.internal.records import Exported

_CODES: Final = (
    "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP "
    "CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG "
    "HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL "
    "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR "
    "RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD "
    "TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG "
    "ANG BGN CUC HRK SLL ZWL"  # withdrawn recently, but still in feeds
)

CURRENCIES: Final = frozenset(_CODES.split())


MICROS_PER_UNIT: Final = 1_000_000
LARGEST: Final = 2**63 - 1
"""The largest amount in millionths: a signed 64-bit integer."""

_DIGITS: Final = 60
_PLAIN: Final = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def _whole(instance: object, attribute: "attrs.Attribute[int]", value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInput("an amount in millionths is a whole number: Micros.of accepts units of the currency")
    if abs(value) > LARGEST:
        raise InvalidInput("the amount is too large")


def _text(instance: object, attribute: "attrs.Attribute[str]", value: object) -> None:
    if not isinstance(value, str):
        raise InvalidInput(f"a currency is a string, for example EUR, not {type(value).__name__}")


@attrs.frozen(order=False)
class Micros(Exported):
    """An amount of money: `Micros.of("5.50", "EUR")` is 5,500,000 millionths of a euro.

    `value` is the integer that the service uses, and `decimal` the same amount in units of the
    currency. Floats are never involved, because they are not exact.
    """

    value: int = attrs.field(validator=_whole)
    currency: str = attrs.field(validator=_text)

    @classmethod
    def of(cls, amount: Decimal | int | str, currency: str) -> Self:
        """Returns an amount from units of the currency. A string has digits with an optional sign and point.

        Raises InvalidInput for floats and for more than six decimal places.
        """
        if isinstance(amount, bool) or not isinstance(amount, Decimal | int | str):
            raise InvalidInput("an amount is a Decimal, a whole number or a string, never a float")
        if isinstance(amount, str) and not _PLAIN.fullmatch(amount):
            raise InvalidInput("an amount is a decimal number, for example 5.50")
        exact = Decimal(amount)
        if not exact.is_finite():
            raise InvalidInput("an amount is a decimal number, for example 5.50")
        if exact.adjusted() > _DIGITS // 2:
            raise InvalidInput("the amount is too large")
        exactly = decimal.Context(prec=_DIGITS, traps=[decimal.Inexact])
        with contextlib.suppress(decimal.Inexact), decimal.localcontext(exactly):
            return cls(int((exact * MICROS_PER_UNIT).to_integral_exact()), currency)
        raise InvalidInput("an amount has at most six decimal places")

    @property
    def decimal(self) -> Decimal:
        """The exact amount in units of the currency: 5.5 for 5,500,000 millionths."""
        with decimal.localcontext(prec=_DIGITS):
            return Decimal(self.value) / MICROS_PER_UNIT

    def __int__(self) -> int:
        return self.value

    def __str__(self) -> str:
        return f"{self.decimal:f} {self.currency}"
