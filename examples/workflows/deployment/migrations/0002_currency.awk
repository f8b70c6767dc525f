# Each order has a currency.
{ print $0 ",eur" }
