"""Prints rows of the shape of Chicago's taxi trips, whose original is in a public bucket, as CSV."""

import random

COLUMNS = (
    'tip,trip_miles,trip_seconds,fare,trip_start_month,trip_start_hour,trip_start_day,pickup_community_area,'
    'dropoff_community_area,pickup_census_tract,dropoff_census_tract,pickup_latitude,pickup_longitude,'
    'dropoff_latitude,dropoff_longitude,payment_type,company'
)
random.seed(7)
print(COLUMNS)
for _ in range(1_000):
    miles = random.uniform(0.5, 12)
    row = [int(miles > 4), miles, miles * 240, miles * 2.5, random.randint(1, 12), random.randint(0, 23)]
    row += [random.randint(1, 7), *(random.randint(1, 77) for _ in range(4)), *(random.random() for _ in range(4))]
    print(','.join([*map(str, row), random.choice(['Cash', 'Credit Card']), random.choice(['A', 'B', 'C'])]))
